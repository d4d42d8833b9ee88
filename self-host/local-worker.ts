// One worker process beside a self-hosted server, started again when it dies, with growing delays. It is the package's
// worker: the same code bundled, without the compiler that Node loads for TypeScript, which takes more memory than the
// worker.

import path from "node:path";
import { PACKAGE_DIRECTORY } from "./build/package.ts";
import { keepRunning } from "./keep-running.ts";
import { ROOT } from "./run-command.ts";
import { supervise } from "./supervised.ts";

/** It mostly dies because of its runtime, so frequent restarts are useless. */
const PACE = { firstMs: 1_000, maxMs: 30_000, healthyAfterMs: 60_000 };
const STOP_GRACE_MS = 10_000;
/** Variables of the coordinator alone: a worker runs other people's prompts and must not have them. */
const WITHHELD = /^(SERVICE_ROOT_KEY|SERVICE_SIGNING_SECRET|PROVIDER_[A-Z0-9_]+_KEY|VAULT_[A-Z0-9_]+)$/;

export interface LocalWorker {
  /** Lets the worker give back its jobs, for up to ten seconds. */
  stop: () => Promise<void>;
}

export function startLocalWorker(worker: { url: string; key: string; instance: string }): LocalWorker {
  const inherited = Object.entries(process.env).filter(([name]) => !WITHHELD.test(name));
  const env = { ...Object.fromEntries(inherited), SERVICE_API_URL: worker.url, SERVICE_API_KEY: worker.key };
  const program = path.join(ROOT, PACKAGE_DIRECTORY, "cli", "main.js");
  const args = [...process.execArgv, program, "worker", "--instance", worker.instance];
  const kept = keepRunning("The local worker", PACE, () =>
    supervise("the local worker", process.execPath, args, env, ROOT),
  );
  return { stop: () => kept.stop(STOP_GRACE_MS) };
}
