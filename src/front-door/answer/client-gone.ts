// A client that disconnects needs no answer: its job is cancelled, and its worker gets a halt. Node notices at once,
// workerd with its next write to the client.

import type { Asking } from "../../../durable-objects/operations/front-door/ask.ts";
import type { AppContext } from "../../http/auth.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { Refused } from "../../http/refused.ts";
import { callTenant } from "../../tenant/tenant.ts";

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

const leave = (c: AppContext, token: TokenFacts, id: string | null): void =>
  c.executionCtx.waitUntil(abandon(c, token, id ?? "").catch(() => undefined));

/**
 * A client that is told that its tenant does not answer waits no longer: its job ends. With an Idempotency-Key it goes on,
 * and the same request finds it again.
 */
export const leaveIfAway = (c: AppContext, token: TokenFacts, { id, idempotency }: Asking, error: unknown): void => {
  const isAway = error instanceof Refused && error.refusal.code === "tenant_unavailable";
  if (isAway && idempotency === null) leave(c, token, id);
};

/** Cancels the job when the client disconnects; call `stop` when the answer is complete. */
export const watchClient = (
  c: AppContext,
  token: TokenFacts,
  id: string | null,
): { stop: () => void; signal: AbortSignal } => {
  const { signal } = c.req.raw;
  const onAbort = (): void => leave(c, token, id);
  signal.addEventListener("abort", onAbort, { once: true });
  return { signal, stop: () => signal.removeEventListener("abort", onAbort) };
};
