// Whether GET /health may say that the service is ready. `npm start` names the worker that it runs: until it can be
// given jobs the service is starting, but only for a limited time, because a worker that cannot start must not block
// the others. It asks no database: the worker's own requests leave the answer here. Invariant: a service that was ready
// is never starting again.

import type { Env } from "../env.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { callTenant } from "./tenant.ts";

export const LONGEST_WAIT_MS = 10_000;
const LOOKS_AT_MOST = 200;
const LOOK_AGAIN_MS = 10;
const ALL_PRESENT = { limit: 1_000, offset: 0 };

/** The awaited worker that has arrived or has used up its time. */
let settled: string | undefined;
let waiting: { readonly worker: string; readonly sinceAt: number } | null = null;

export const isStarting = ({ SERVICE_AWAITED_WORKER: awaited }: Env): boolean => {
  if (awaited === settled || awaited === undefined) return false;
  if (waiting?.worker !== awaited) waiting = { worker: awaited, sinceAt: Date.now() };
  if (Date.now() - waiting.sinceAt >= LONGEST_WAIT_MS) settled = awaited;
  return awaited !== settled;
};

const isAwaited = ({ SERVICE_AWAITED_WORKER: awaited }: Env, { tenant }: TokenFacts, instance: string): boolean =>
  awaited !== undefined && awaited !== settled && awaited === `${tenant}/${instance}`;

/** A worker reported presence: it can be given jobs from now on. */
export const notePresent = (env: Env, token: TokenFacts, instance: string): void => {
  if (isAwaited(env, token, instance)) settled = env.SERVICE_AWAITED_WORKER;
};

/**
 * A worker's socket is open. Its offer comes in a frame that only the tenant's object sees; until then a known worker
 * counts with its last offer and no free place.
 */
export const noteConnected = async (env: Env, token: TokenFacts, instance: string): Promise<void> => {
  for (let looks = 0; looks < LOOKS_AT_MOST && isAwaited(env, token, instance); looks += 1) {
    const present = await callTenant(env, token, "listPresent", ALL_PRESENT);
    const worker = present.ok ? present.value.workers.find((one) => one.instance === instance) : undefined;
    if (worker?.connected === true && worker.concurrency > 0) notePresent(env, token, instance);
    else await scheduler.wait(LOOK_AGAIN_MS);
  }
};
