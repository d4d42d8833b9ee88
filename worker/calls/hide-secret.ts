// Providers quote the key, in whole, in part or encoded, when they refuse it; this removes it from messages.

import { secretForms } from "../../contract/text/secret-text.ts";
import type { Outcome } from "./runtime.ts";

const KEY_LIKE = /\b(sk|gsk|xai|csk|hf|nvapi)[-_][\w*-]{4,}/g;

export async function hidingSecret(secret: string | null, run: () => Promise<Outcome>): Promise<Outcome> {
  const outcome = await run();
  if (outcome.ok) return outcome;
  const forms = secret ? secretForms(secret) : [];
  const message = forms.reduce((text, form) => text.replaceAll(form, "[key]"), outcome.error.message);
  return { ...outcome, error: { ...outcome.error, message: message.replace(KEY_LIKE, "[key]") } };
}
