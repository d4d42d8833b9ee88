// A release's data folder as SIGKILL left it, with what the API had answered. A shipped fixture is never recorded
// again: it is the only evidence of what that release wrote. Its content is true for ever, however long after the
// recording it is read.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const FIXTURES = path.join(import.meta.dirname, "fixtures");
/** Written at every start, and full of the recording machine's paths. */
const LEFT_OUT = [
  ...["serving.capnp", "history.capnp", "migration.capnp", "migration-worker.js"],
  ...["run", "freeze", "freeze.path"],
];

/** Independent of the environment: secrets from the folder, no automatic catalog sync. */
export const FIXTURE_ENVIRONMENT = { SERVICE_ROOT_KEY: "", SERVICE_SIGNING_SECRET: "", SERVICE_CATALOG_SYNC: "0" };

/** `GET path` with `key` returns at least this. */
export interface Read {
  readonly key: string;
  readonly path: string;
  readonly expect: unknown;
}

/** A lease given before the recording ended. */
interface Lease {
  readonly job: string;
  readonly lease: number;
}

/** Sums of the cost of one provider and model. */
export interface Spent {
  readonly provider: string;
  readonly model: string;
  readonly nano_usd: number;
  readonly jobs: number;
}

export interface Expectations {
  readonly note: string;
  readonly version: string;
  readonly recorded_at: string;
  readonly reads: readonly Read[];
  readonly ended_keys: readonly string[];
  /** A tenant in which no lease ever ends by itself. */
  readonly steady: {
    readonly tenant: string;
    readonly admin_key: string;
    readonly worker_key: string;
    readonly held: Lease & { readonly worker: string };
    readonly paused_worker: string;
    /** Pending: for a worker with this provider and tag; after a back-off; not before a distant instant. */
    readonly unmatched: { readonly job: string; readonly provider: string; readonly tag: string };
    readonly backed_off: { readonly job: string; readonly provider: string };
    readonly distant: { readonly job: string; readonly provider: string };
    readonly spent: readonly Spent[];
  };
  /** Leases that were live when the server was killed, and end soon after. */
  readonly lapsing: { readonly key: string; readonly provider: string; readonly leases: readonly Lease[] };
  readonly halted: {
    readonly key: string;
    readonly provider: string;
    readonly lost: Lease;
    readonly waiting: readonly string[];
    readonly worker: string;
    readonly paused_by_hand: string;
    readonly schedule: string;
  };
  readonly scheduled: {
    readonly key: string;
    readonly name: string;
    readonly interval_ms: number;
    readonly next_run_at: string;
    readonly history: readonly unknown[];
  };
  /** What came after 0.1.0, some of it under way; its held jobs are what their worker knows of them. */
  readonly later?: {
    readonly key: string;
    readonly files: readonly { readonly id: string; readonly sha256: string }[];
    readonly batch: {
      readonly id: string;
      /** Names of its lines. */
      readonly lines: readonly string[];
      readonly failed: readonly string[];
      readonly held: unknown;
    };
    readonly response: { readonly id: string; readonly follows: string; readonly held: unknown };
    readonly task: string;
  };
  /** What was answered in the last moment, before history had it. */
  readonly undrained: { readonly tenant: string; readonly key: string; readonly job: unknown };
}

export const archiveOf = (version: string): string => path.join(FIXTURES, `${version}.tar.gz`);
const expectationsOf = (version: string): string => path.join(FIXTURES, `${version}.json`);

export const isStored = (version: string): boolean => existsSync(archiveOf(version));

/** Versions with a fixture. */
export const storedVersions = (): string[] =>
  readdirSync(FIXTURES)
    .filter((name) => name.endsWith(".tar.gz"))
    .map((name) => name.replace(/\.tar\.gz$/, ""))
    .sort();

export const readExpectations = (version: string): Expectations =>
  JSON.parse(readFileSync(expectationsOf(version), "utf8")) as Expectations;

export const unpack = (version: string, into: string): void => {
  execFileSync("tar", ["-xzf", archiveOf(version), "-C", into]);
};

/** Stores the folder of a killed server. */
export const pack = (dataDir: string, expectations: Expectations): void => {
  mkdirSync(FIXTURES, { recursive: true });
  const { version } = expectations;
  const exclude = LEFT_OUT.map((name) => `--exclude=./${name}`);
  execFileSync("tar", [...exclude, "--owner=0", "--group=0", "-czf", archiveOf(version), "-C", dataDir, "."]);
  writeFileSync(expectationsOf(version), `${JSON.stringify(expectations, null, 1)}\n`);
};
