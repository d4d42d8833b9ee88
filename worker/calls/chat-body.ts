// Builds the body of a chat request from a job's `prompt` and `input`. Pure. Text in `input` follows the prompt. An
// object's fields are parameters of the call, and `messages` are the turns before the prompt, which always comes last.
// An unknown field is refused by name: it is never dropped or pasted into the prompt.

import { jobInput } from "../../contract/jobs/job-input.ts";
import { isObject, type JsonObject } from "../../contract/text/json-object.ts";
import { nearestOf } from "../../contract/text/nearest.ts";
import { refusalOf } from "../../contract/words/validation.ts";
import type { JobFailure } from "./runtime.ts";

export type ChatBody = { messages: unknown[]; [field: string]: unknown };

export const INPUT_FIELDS: readonly string[] = Object.keys(jobInput.shape);

export type ChatBodyResult = { ok: true; body: ChatBody } | { ok: false; error: JobFailure };

export const chatBody = (prompt: string, input: unknown): ChatBodyResult => {
  if (input === null || input === undefined) return { ok: true, body: { messages: [userTurn(prompt)] } };
  if (typeof input === "string") return { ok: true, body: { messages: [userTurn(`${prompt}\n\n${input}`)] } };
  if (!isObject(input)) return refused("input must be text, or an object of model parameters");
  const unknown = unknownField(input, INPUT_FIELDS);
  if (unknown !== null) return refused(unknown);
  const parsed = jobInput.safeParse(input);
  if (!parsed.success) {
    const message = `input: ${refusalOf(jobInput, parsed.error, input).detail}`;
    return { ok: false, error: { code: "bad_request", message, retryable: false } };
  }
  const { system, messages = [], ...settings } = parsed.data;
  // `system` becomes the first turn; the other fields keep their names.
  const first = system === undefined ? [] : [{ role: "system", content: system }];
  return { ok: true, body: { messages: [...first, ...messages, userTurn(prompt)], ...settings } };
};

/** Names the first field that is not in `known`, and the nearest known one. */
export const unknownField = (input: JsonObject, known: readonly string[]): string | null => {
  const field = Object.keys(input).find((name) => !known.includes(name));
  if (field === undefined) return null;
  const nearest = nearestOf(field, known);
  const hint = nearest === null ? `known fields are ${known.join(", ")}` : `did you mean "${nearest}"?`;
  return `input.${field.slice(0, 64)} is not a model parameter; ${hint}`;
};

export const unsupportedInput = (message: string): JobFailure => ({
  code: "unsupported_input",
  message,
  retryable: false,
});

const refused = (message: string): ChatBodyResult => ({ ok: false, error: unsupportedInput(message) });

const userTurn = (content: string): { role: "user"; content: string } => ({ role: "user", content });
