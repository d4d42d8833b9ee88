// A client that disconnects needs no answer: its job is cancelled, and its worker gets a halt. Node notices at once,
// workerd with its next write to the client.

import type { AppContext } from "../http/auth.ts";
import type { TokenFacts } from "../http/key-format.ts";
import { callTenant } from "../tenant/tenant.ts";

/** The job may not have reached the tenant yet when its client disconnects. */
const TRIES = 5;
const TRY_AGAIN_MS = 200;

/** Ends a job that no client waits for any more. */
export const abandon = async (
  c: AppContext,
  token: TokenFacts,
  id: string,
  why: "left" | "lost" = "left",
): Promise<void> => {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const told = await callTenant(c.env, token, "abandon", { id, why });
    if (told.ok && told.value) return;
    await scheduler.wait(TRY_AGAIN_MS);
  }
};

/** Cancels the job when the client disconnects; call `stop` when the answer is complete. */
export const watchClient = (
  c: AppContext,
  token: TokenFacts,
  id: string,
): { stop: () => void; signal: AbortSignal } => {
  const { signal } = c.req.raw;
  const onAbort = (): void => {
    c.executionCtx.waitUntil(abandon(c, token, id).catch(() => undefined));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  return { signal, stop: () => signal.removeEventListener("abort", onAbort) };
};
