// Skips work whose inputs have not changed: a stamp in dist/ holds the hash of the last build's inputs. Invariant: the
// stamp is removed before a build and written only after it succeeded.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ExitError } from "../exit-error.ts";
import { ROOT } from "../run-command.ts";
import { canBuild, isUnwritable, sourcesIn } from "./built.mjs";

/** The hash of every file in the given places (relative to the root), including names. */
const hashInputs = (places: readonly string[]): string => {
  const hash = createHash("sha256");
  for (const file of sourcesIn(ROOT, places)) {
    hash
      .update(`${path.relative(ROOT, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return hash.digest("hex");
};

/** One part of dist/; all places are relative to the root. */
export interface Step {
  readonly stamp: string;
  /** A file that is there once it is built. */
  readonly product: string;
  readonly inputs: readonly string[];
}

/** Runs `work` unless inputs and product are unchanged since the last successful run. Returns true if it ran. */
export const buildIfChanged = async (step: Step, work: () => Promise<void>): Promise<boolean> => {
  const isThere = existsSync(path.join(ROOT, step.product));
  if (isThere && !canBuild(ROOT)) return false;
  const stamp = path.join(ROOT, step.stamp);
  const hash = hashInputs(step.inputs);
  const isFresh =
    existsSync(path.join(ROOT, step.product)) && existsSync(stamp) && readFileSync(stamp, "utf8") === hash;
  if (isFresh) return false;
  removeStamp(stamp);
  await work();
  writeFileSync(stamp, hash);
  return true;
};

const removeStamp = (stamp: string): void => {
  try {
    rmSync(stamp, { force: true });
  } catch (error) {
    if (!isUnwritable(error as NodeJS.ErrnoException)) throw error;
    throw new ExitError(
      `The sources have changed since ${path.join(ROOT, "dist")} was built, and this user may not write there. Build it once as its owner: npm start.`,
    );
  }
};
