// Providers quote the key, in whole or in part, when they refuse it; this removes it from messages.

import type { Outcome } from "./runtime.ts";

const KEY_LIKE = /\b(sk|gsk|xai|csk|hf|nvapi)[-_][\w*-]{4,}/g;

export async function hidingSecret(secret: string | null, run: () => Promise<Outcome>): Promise<Outcome> {
  const outcome = await run();
  if (outcome.ok) return outcome;
  const whole = secret ? outcome.error.message.replaceAll(secret, "[key]") : outcome.error.message;
  return { ...outcome, error: { ...outcome.error, message: whole.replace(KEY_LIKE, "[key]") } };
}
