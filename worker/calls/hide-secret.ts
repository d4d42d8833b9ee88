// Providers quote the key, in whole, in part or encoded, when they refuse it; this removes it from messages.

import { secretForms, withoutKeyLike } from "../../contract/text/secret-text.ts";
import type { Outcome } from "./runtime.ts";

export const hidingSecret = async (secret: string | null, run: () => Promise<Outcome>): Promise<Outcome> => {
  const outcome = await run();
  if (outcome.ok) return outcome;
  const forms = secret ? secretForms(secret) : [];
  const message = forms.reduce((text, form) => text.replaceAll(form, "[key]"), outcome.error.message);
  return { ...outcome, error: { ...outcome.error, message: withoutKeyLike(message) } };
};
