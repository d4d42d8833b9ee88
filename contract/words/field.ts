// Building blocks of the schemas. Text is checked here: no NUL, lone surrogate or overlong value gets further.

import * as z from "zod";
import type { Json } from "../../domain/words/json.ts";
import type { Result } from "../../domain/words/result.ts";
import { MAX_OFFSET, MAX_PAGE, MAX_WAIT_SECONDS } from "./values.ts";

export const MAX_BODY_BYTES = 1024 * 1024;
export const MAX_PROMPT_BYTES = 256 * 1024;
export const MAX_RESULT_BYTES = 1024 * 1024;
export const MAX_INPUT_BYTES = 1024 * 1024;
export const MAX_PROGRESS_BYTES = 16 * 1024;
export const MAX_TAGS = 32;
export const MAX_METADATA_PAIRS = 16;

const encoder = new TextEncoder();
export const utf8Bytes = (text: string): number => encoder.encode(text).length;

/** The most that one UTF-16 unit becomes. */
const MAX_BYTES_A_UNIT = 3;

/** Whether it has at most so many UTF-8 bytes. Short text, as most is, is not encoded to know that. */
export const isWithinBytes = (text: string, maxBytes: number): boolean =>
  text.length * MAX_BYTES_A_UNIT <= maxBytes || (text.length <= maxBytes && utf8Bytes(text) <= maxBytes);

export const isCleanText = (text: string): boolean => text.isWellFormed() && !text.includes("\u0000");
export const CLEAN_TEXT = "must be well-formed text without NUL characters";

/** A check of text that a rule reads. */
export const readableBy =
  (read: (given: string) => Result<unknown, string>) =>
  (given: string, context: z.RefinementCtx): void => {
    const parsed = read(given);
    if (!parsed.ok) context.addIssue(parsed.error);
  };

/** Free text of 1 to `maxBytes` UTF-8 bytes. */
export const text = (maxBytes: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .refine(isCleanText, CLEAN_TEXT)
    .refine((value) => isWithinBytes(value, maxBytes), `must be at most ${maxBytes} bytes of UTF-8`);

/** A short label for people: one line, at most `max` characters. */
export const label = (max: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .max(max)
    .refine(isCleanText, CLEAN_TEXT)
    .refine((value) => !/\p{Cc}/u.test(value), "must not contain control characters");

export const identifier = (pattern: RegExp, max: number, says: string) =>
  z.string().min(1, "must not be empty").max(max).regex(pattern, `must consist of ${says}`);

/** Of a batch, which has two names: `batch_x` and, in Anthropic's form, `msgbatch_x`. */
export const ownBatchId = (id: string): string => id.replace(/^msg(?=batch_)/, "");

/** Of a job, or a task for a worker's models. */
export const recordId = identifier(/^[A-Za-z0-9_-]+$/, 64, "characters from A-Z a-z 0-9 _ -");
export const TAG_CHARACTERS = "characters from A-Z a-z 0-9 . _ : / -";
export const MAX_TAG_CHARS = 64;
export const tag = identifier(/^[A-Za-z0-9._:/-]+$/, MAX_TAG_CHARS, TAG_CHARACTERS);
export const tags = z.array(tag).max(MAX_TAGS);
/** A URL cannot name `.` and `..`. */
export const instanceName = identifier(
  /^(?!\.{1,2}$)[A-Za-z0-9._:-]+$/,
  128,
  "characters from A-Z a-z 0-9 . _ : -, and not be . or ..",
);
export const providerName = label(128);
export const modelName = label(128);

const INSTANT_RULE = "must be an RFC 3339 time with its zone, as in 2026-01-31T09:00:00Z";
/** The `+` of a zone that stands as it is in an address arrives as a space. */
const instantProblem = ({ input }: { readonly input?: unknown }): string =>
  typeof input === "string" && /T.* \d\d:\d\d$/.test(input)
    ? `${INSTANT_RULE}; in an address write + as %2B`
    : INSTANT_RULE;
/** A zone can move a time out of the years that an answer can write. */
export const instant = z.iso
  .datetime({ offset: true, abort: true, error: instantProblem })
  .refine((given) => /^\d/.test(toIso(fromIso(given))), "must be within the years 0000 to 9999 of UTC")
  .meta({ description: "RFC 3339 time" });
export const count = z.int().min(0);
/** Far beyond any context window, and small enough that sums never overflow. */
export const MAX_TOKENS = 1_000_000_000_000;
export const tokenCount = z.int().min(0).max(MAX_TOKENS);
export const MAX_USD = 9_000_000;
export const usd = z.number().min(0).max(MAX_USD).meta({ description: "decimal US dollars" });

/** Any JSON value; depth and size are bounded by the body that carried it. */
export const json: z.ZodType<Json> = z.any().meta({ description: "any JSON value" });

/** JSON may get longer when it is serialised again; the limit is on the stored form. */
export const jsonWithin = (maxBytes: number): z.ZodType<Json> =>
  json.refine((value) => value === undefined || isWithinBytes(JSON.stringify(value), maxBytes), {
    message: `must be at most ${maxBytes} bytes as JSON`,
  });

/** Five-field cron as people copy it: one space between its fields, none around them. */
export const cronText = z
  .string()
  .max(128)
  .overwrite((cron) => cron.trim().replace(/\s+/g, " "));

export const seconds = (min: number, max: number) => z.number().min(min).max(max);

/** A record with at most `max` entries. */
export const recordUpTo = <Value extends z.ZodType>(max: number, key: z.ZodString, value: Value) =>
  z.record(key, value).refine((entries) => Object.keys(entries).length <= max, `must have at most ${max} entries`);

/** A change, which names at least one of its fields. */
export const changeOf = <Shape extends z.ZodRawShape>(
  shape: Shape,
  says = `give at least one of ${Object.keys(shape).join(", ")}`,
) => z.strictObject(shape).refine((change) => Object.keys(change).length > 0, says);

/** The parts of a comma-separated text, each once. */
export const splitList = (given: string): string[] => [
  ...new Set(
    given
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one !== ""),
  ),
];

let lastAt = Number.NaN;
let lastIso = "";
/** A resource often has one instant several times, so the last text is kept. */
export const toIso = (at: number): string => {
  if (at !== lastAt) [lastAt, lastIso] = [at, new Date(at).toISOString()];
  return lastIso;
};
export const toIsoOrNull = (at: number | null): string | null => (at === null ? null : toIso(at));
export const toMs = (asSeconds: number): number => Math.round(asSeconds * 1000);
export const toMsOrNull = (asSeconds: number | null): number | null => (asSeconds === null ? null : toMs(asSeconds));
export const fromIso = (iso: string): number => Date.parse(iso);

/** A whole number in a query parameter, digits only: `1e2`, `0x10` and the empty string are refused. */
export const digits = (min: number, max: number) =>
  z.preprocess(
    (given) => (typeof given === "string" && /^\d{1,9}$/.test(given) ? Number(given) : given),
    z.int(`must be a whole number from ${min} to ${max}`).min(min).max(max),
  );

/** The page of a list that is asked for. */
export interface PageRequest {
  readonly limit: number;
  readonly offset: number;
}

/** Query parameters of every list. */
export const listQuery = { limit: digits(1, MAX_PAGE).default(50), offset: digits(0, MAX_OFFSET).default(0) };

/** The id of a list's row, behind which it goes on: one that is unknown, in whatever form, is not found. */
export const place = z.string().max(64).optional();

export const page = { total: count, limit: count, offset: count };
export const waitQuery = { wait: digits(0, MAX_WAIT_SECONDS).default(0) };
