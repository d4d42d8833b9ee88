// Skips work whose inputs have not changed: a stamp in dist/ holds the hash of the last build's inputs. Invariant: the
// stamp is removed before a build and written only after it succeeded.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ExitError } from "../exit-error.ts";
import { filesBelow } from "../files-below.ts";
import { ROOT } from "../run-command.ts";

const filesAt = (place: string): string[] => {
  const found = statSync(place, { throwIfNoEntry: false });
  if (!found) return [];
  return found.isDirectory() ? filesBelow(place) : [place];
};

/** The hash of every file in the given places (relative to the root), including names. */
const hashInputs = (places: readonly string[]): string => {
  const hash = createHash("sha256");
  for (const file of places.flatMap((place) => filesAt(path.join(ROOT, place))).sort()) {
    hash
      .update(`${path.relative(ROOT, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return hash.digest("hex");
};

/** A container has a dist/ built elsewhere and no tools, so that dist/ is used unchanged. */
export const canBuild = (): boolean => existsSync(path.join(ROOT, "node_modules", "wrangler"));

/** Runs `work` unless inputs and product are unchanged since the last successful run. Returns true if it ran. */
export const buildIfChanged = async (
  step: { stamp: string; product: string; inputs: readonly string[] },
  work: () => Promise<void>,
): Promise<boolean> => {
  const isThere = existsSync(path.join(ROOT, step.product));
  if (isThere && !canBuild()) return false;
  if (!canBuild()) {
    throw new ExitError(
      `${step.product} is missing, and its build tools are not installed: run npm install, or copy dist/ here.`,
    );
  }
  const stamp = path.join(ROOT, step.stamp);
  const hash = hashInputs(step.inputs);
  const isFresh = isThere && existsSync(stamp) && readFileSync(stamp, "utf8") === hash;
  if (isFresh) return false;
  rmSync(stamp, { force: true });
  await work();
  writeFileSync(stamp, hash);
  return true;
};
