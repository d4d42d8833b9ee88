// One worker process beside a self-hosted server, started again when it dies, more slowly each time.

import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ROOT } from "../run-command.ts";
import { describeExit, type Supervised, supervise } from "./supervised.ts";

const FIRST_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;
/** A worker that lived this long had started well: its next death counts as the first. */
const HEALTHY_AFTER_MS = 60_000;
const STOP_GRACE_MS = 10_000;
/** What is the coordinator's alone: a worker, which runs others' prompts, has no business with it. */
const WITHHELD = /^(SERVICE_ROOT_KEY|SERVICE_SIGNING_SECRET|PROVIDER_[A-Z0-9_]+_KEY|VAULT_[A-Z0-9_]+)$/;

export interface LocalWorker {
  /** Lets the worker give back its jobs, for up to ten seconds. */
  stop: () => Promise<void>;
}

export function startLocalWorker(worker: { url: string; key: string; instance: string }): LocalWorker {
  const stopping = new AbortController();
  const inherited = Object.entries(process.env).filter(([name]) => !WITHHELD.test(name));
  const env = { ...Object.fromEntries(inherited), SERVICE_API_URL: worker.url, SERVICE_API_KEY: worker.key };
  const args = [...process.execArgv, path.join(ROOT, "worker", "main.ts"), "--instance", worker.instance];
  let current: Supervised | undefined;

  const keepRunning = async (): Promise<void> => {
    let backoffMs = FIRST_BACKOFF_MS;
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      current = supervise(process.execPath, args, env, ROOT);
      const exit = await current.exited.catch(() => ({ code: null, signal: null }));
      if (stopping.signal.aborted) return;
      if (performance.now() - startedAt > HEALTHY_AFTER_MS) backoffMs = FIRST_BACKOFF_MS;
      console.error(`The local worker ${describeExit(exit)}; starting it again in ${backoffMs / 1000} s.`);
      await pause(backoffMs, undefined, { signal: stopping.signal }).catch(() => {});
      backoffMs = Math.min(backoffMs * 2, MAX_BACKOFF_MS);
    }
  };
  const ended = keepRunning();
  return {
    stop: async () => {
      stopping.abort();
      await current?.stop(STOP_GRACE_MS);
      await ended;
    },
  };
}
