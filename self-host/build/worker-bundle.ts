// The edge's bundle, made by `wrangler deploy --dry-run`: byte for byte what a deploy would send. It takes about two
// seconds, only when sources have changed; a second bundler with "the same" options would drift.

import { rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { ExitError } from "../exit-error.ts";
import { ROOT, runCommand } from "../run-command.ts";
import { WORKER_DIRECTORY, WORKER_ENTRY } from "./places.ts";
import { buildIfChanged, type Step } from "./stamp.ts";

export const EDGE_WORKER: Step = {
  stamp: "dist/worker.stamp",
  product: `${WORKER_DIRECTORY}/${WORKER_ENTRY}`,
  inputs: [
    "src",
    "contract",
    "domain",
    "durable-objects",
    "providers",
    "log",
    "worker",
    "migrations",
    "wrangler.toml",
    "tsconfig.json",
    "tsconfig.base.json",
    "package.json",
    "package-lock.json",
  ],
};

const bundleWorker = async (): Promise<void> => {
  rmSync(path.join(ROOT, WORKER_DIRECTORY), { recursive: true, force: true });
  const args = ["deploy", "--dry-run", "--outdir", WORKER_DIRECTORY];
  const { code, output } = await runCommand("wrangler", args, { isQuiet: true });
  if (code !== 0) throw new ExitError(`The edge worker's bundle failed:\n${output}`);
  console.log(`Edge worker: ${await bundleBytes()} bytes gzipped.`);
};

/** The size that a deploy sends and an isolate loads. */
export const bundleBytes = async (): Promise<number> =>
  gzipSync(await readFile(path.join(ROOT, WORKER_DIRECTORY, WORKER_ENTRY)), { level: 9 }).length;

export const ensureWorkerBundle = (): Promise<boolean> => buildIfChanged(EDGE_WORKER, bundleWorker);
