// One worker process beside a self-hosted server, started again when it dies, with growing delays. It is the package's
// worker: the same code bundled, without the compiler that Node loads for TypeScript, which takes more memory than the
// worker.

import path from "node:path";
import { isSecretVariable } from "../../contract/text/secret-variable.ts";
import { log } from "../../log/log.ts";
import { PACKAGE_DIRECTORY } from "../build/places.ts";
import { ROOT } from "../run-command.ts";
import { keepRunning } from "./keep-running.ts";
import { supervise } from "./supervised.ts";

/** It mostly dies because of its runtime, so frequent restarts are useless. */
const PACE = { firstMs: 1_000, maxMs: 30_000, healthyAfterMs: 60_000 };
const STOP_GRACE_MS = 10_000;

interface LocalWorker {
  /** Lets the worker give back its jobs, for up to ten seconds. */
  stop: () => Promise<void>;
}

const endedKey = (file: string): string =>
  `There is no local worker: its key has ended. Remove ${file} and start again, and it gets a new one.`;

/**
 * Without the coordinator's secrets: a worker runs other people's prompts and must not have them. Its coordinator is on
 * this machine, also under an address that a proxy would be asked for.
 */
export const environmentOf = (
  { url, key }: { url: string; key: string },
  own: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv => {
  const inherited = Object.entries(own).filter(([name]) => !isSecretVariable(name));
  const no_proxy = [new URL(url).hostname, own.no_proxy || own.NO_PROXY].filter(Boolean).join(",");
  return { ...Object.fromEntries(inherited), no_proxy, SERVICE_API_URL: url, SERVICE_API_KEY: key };
};

interface Plan {
  readonly url: string;
  readonly key: string;
  /** Where its key is kept. */
  readonly keyFile: string;
  readonly hasKeyEnded: () => Promise<boolean>;
  readonly instance: string;
}

export function startLocalWorker(worker: Plan): LocalWorker {
  const env = environmentOf(worker);
  const program = path.join(ROOT, PACKAGE_DIRECTORY, "cli", "main.js");
  const args = [...process.execArgv, program, "worker", "--instance", worker.instance];
  const start = () => supervise("the local worker", [process.execPath, args], { env, cwd: ROOT, isTold: true });
  const isOver = async (): Promise<boolean> => {
    const hasEnded = await worker.hasKeyEnded();
    if (hasEnded) log("error", "process.ended", { detail: endedKey(worker.keyFile) });
    return hasEnded;
  };
  const kept = keepRunning("The local worker", PACE, start, isOver);
  return { stop: () => kept.stop(STOP_GRACE_MS) };
}
