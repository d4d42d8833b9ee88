// The instructions of a command: a line that is a JSON object with exactly one of the seven keys, whose value has the
// form that the key asks for. Everything else that a command writes is text. Pure.

import * as z from "zod";
import { reportedUsage } from "../../contract/jobs/usage.ts";
import { isObject, parseJson } from "../../contract/text/json-object.ts";
import { lineOf, startOf } from "../../contract/text/start-of.ts";
import { MAX_PROGRESS_BYTES } from "../../contract/words/field.ts";
import type { Usage } from "../apis/usage.ts";
import type { JobFailure } from "../calls/runtime.ts";

/** What a program says of its own failure. */
export const MAX_CODE_CHARS = 64;
export const MAX_MESSAGE_CHARS = 8_000;

const words = z
  .unknown()
  .optional()
  .transform((given) => {
    if (typeof given === "string") return given;
    return given == null ? "" : JSON.stringify(given);
  });

/** An error may be words alone, or have a field in a form of its own: its job fails all the same. */
const errorFields = z.preprocess(
  (given) => (typeof given === "string" ? { message: given } : given),
  z.object({
    code: words,
    message: words,
    retryable: z.boolean().default(false).catch(false),
    retry_after_seconds: z.coerce.number().min(0).nullish().catch(null),
  }),
);

/** Of what a library counts, a report has these; a program that writes nothing, such as an embedder, leaves that out. */
const countedUsage = z.object({
  ...reportedUsage.shape,
  input_tokens: reportedUsage.shape.input_tokens.default(0),
  output_tokens: reportedUsage.shape.output_tokens.default(0),
});

const VALUES = {
  text: z.string(),
  progress: z.number(),
  result: z.unknown(),
  usage: countedUsage,
  cost_usd: z.number().min(0),
  file: z.string().min(1),
  error: errorFields,
} as const;

const INSTRUCTION_KEYS = Object.keys(VALUES) as (keyof typeof VALUES)[];

export type Instruction =
  | { key: "text"; text: string }
  | { key: "progress"; progress: number; message?: string }
  | { key: "result"; result: unknown }
  | { key: "usage"; usage: Usage }
  | { key: "cost_usd"; costUsd: number }
  | { key: "file"; file: string }
  | { key: "error"; error: JobFailure };

/** Null: the line is no instruction. */
export const readInstruction = (line: string): Instruction | null => {
  const given = parseJson(line);
  return isObject(given) ? instructionOf(given) : null;
};

export const instructionOf = (given: Readonly<Record<string, unknown>>): Instruction | null => {
  const [key, another] = INSTRUCTION_KEYS.filter((one) => Object.hasOwn(given, one));
  if (key === undefined || another !== undefined) return null;
  const value = VALUES[key].safeParse(given[key]);
  if (!value.success) return null;
  switch (key) {
    case "text":
      return { key, text: (value.data as string).toWellFormed() };
    case "progress": {
      const message = typeof given.message === "string" ? lineOf(given.message, MAX_PROGRESS_BYTES / 16) : undefined;
      return { key, progress: value.data as number, ...(message === undefined ? {} : { message }) };
    }
    case "result":
      return { key, result: value.data };
    case "usage":
      return { key, usage: value.data as Usage };
    case "cost_usd":
      return { key, costUsd: value.data as number };
    case "file":
      return { key, file: value.data as string };
    case "error":
      return { key, error: failureOf(value.data as z.infer<typeof errorFields>) };
  }
};

const failureOf = ({
  code,
  message,
  retryable,
  retry_after_seconds: after,
}: z.infer<typeof errorFields>): JobFailure => {
  const told = { code: lineOf(code, MAX_CODE_CHARS) || "failed", message: startOf(message, MAX_MESSAGE_CHARS) };
  return { ...told, retryable, ...(after == null ? {} : { retry_after_seconds: after }) };
};
