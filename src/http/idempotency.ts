// Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): the key and the digest of the request. The tenant's
// object decides what they mean, in the transaction of the operation.

import * as z from "zod";
import { invalid } from "../../domain/words/refusal.ts";
import type { Written } from "../../durable-objects/calls/grouped-calls.ts";
import { answer } from "./answer.ts";
import type { AppContext } from "./auth.ts";
import { digestBy } from "./key-format.ts";
import { Refused } from "./refused.ts";

/** The header of an answer that is a repetition of the first. */
export const REPLAYED = "idempotency-replayed";

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

export const idempotencyHeader = z.object({
  "idempotency-key": z.string().optional().meta({ description: "1 to 255 visible ASCII characters; kept for 24 h" }),
});

/** The key and the digest of the request; the order of fields does not matter. */
export const idempotencyOf = async (c: AppContext, body: object) => {
  const key = c.req.header("idempotency-key");
  if (key === undefined) return null;
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw new Refused(invalid("Idempotency-Key", "must be 1 to 255 visible ASCII characters"));
  }
  const text = JSON.stringify(sorted(body));
  return { key, bodyHash: await digestBy(c.env.HOME, text) };
};

/** Sorts the keys of objects, so equal bodies give equal text. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
};

/** Answers a request that may be a repetition; the answer is passed on as it was written. */
export const answerReplayable = (c: AppContext, written: Written<object>, status: number): Response => {
  const first = written.first();
  return answer(c, first ?? written, status, replayHeader({ replayed: first !== null }));
};

/** Reads the answer, because its status depends on it. */
export const answerAsRead = <T extends { readonly replayed?: boolean }>(
  c: AppContext,
  written: Written<T>,
  statusOf: (first: T) => number,
): Response => {
  const read = written.read();
  const { replayed = false, ...first } = read;
  return answer(c, first, statusOf(read), replayHeader({ replayed }));
};

export const replayHeader = ({ replayed }: { replayed?: boolean }): Record<string, string> =>
  replayed === true ? { [REPLAYED]: "true" } : {};
