// What requests ask of their key's limits: which person they are for, and about how many tokens they take.

import { isObject } from "../../contract/text/json-object.ts";
import { MAX_TOKENS } from "../../contract/words/field.ts";
import { settleTokens, type UseWindow, userOf, windowAt } from "../../domain/access/key-limits.ts";
import type { Job, JobPayload, Usage } from "../../domain/job/job.ts";
import type { Api } from "../../domain/words/api.ts";
import type { Json } from "../../domain/words/json.ts";
import type { Turn } from "../turn/turn.ts";
import { inputTokensFor } from "../turn/uncounted.ts";

export interface Request extends JobPayload {
  readonly api?: Api | null;
  readonly fairnessKey?: string | null;
  readonly user?: string | null;
}

/** The requests of each person that they name. */
export const usersOf = (requests: readonly Request[]): Map<string, Request[]> => {
  const users = new Map<string, Request[]>();
  for (const request of requests) {
    const user = request.fairnessKey ?? request.user ?? null;
    if (user !== null) users.set(user, [...(users.get(user) ?? []), request]);
  }
  return users;
};

/** As the APIs name the bound of an answer. */
const OUTPUT_BOUNDS = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/** The bound that a request sets for its answer; null for none. Of several the runtime may take the largest. */
export const outputBoundOf = (input: Json): number | null => {
  if (!isObject(input)) return null;
  const bound = OUTPUT_BOUNDS.reduce((most, name) => Math.max(most, Number(input[name]) || 0), 0);
  // Of a larger sum nothing would be left of what was counted before.
  return bound > 0 ? Math.ceil(Math.min(bound, MAX_TOKENS)) : null;
};

/** What is reserved for it: its input, and its answer's own bound. */
export const tokensAsked = ({ api = null, ...payload }: Request): number =>
  inputTokensFor({ api }, payload) + (outputBoundOf(payload.input) ?? 0);

/** The names under which the tokens of a job count: its key's and its person's, where those have a limit of tokens. */
const countedFor = (turn: Turn, { keyId, batch, fairnessKey: user }: Job): readonly string[] => {
  const limits = turn.store.keys.limitsOf(keyId);
  if (keyId === null || batch !== null || limits === null) return [];
  return [
    ...(limits.tokensPerMinute === null ? [] : [keyId]),
    ...(limits.perUser?.tokensPerMinute == null || user === null ? [] : [userOf(keyId, user)]),
  ];
};

const changeWindows = (turn: Turn, names: readonly string[], change: (window: UseWindow) => UseWindow): void => {
  const { keyUse } = turn.store;
  for (const name of names) keyUse.putWindow(name, change(windowAt(keyUse.window(name), turn.nowAt)));
};

const reservedFor = (turn: Turn, job: Job): number =>
  tokensAsked({ api: job.api, ...turn.store.payloads.find(job.id) });

/**
 * The job has told what it took: the windows of its key and its person count that instead of what was reserved, which
 * stays for the next attempt unless it `isOver`.
 */
export const settleUse = (turn: Turn, job: Job, usage: Usage | null, isOver: boolean): void => {
  const names = usage === null ? [] : countedFor(turn, job);
  if (usage === null || names.length === 0) return;
  const reserved = isOver ? reservedFor(turn, job) : 0;
  const used = usage.inputTokens + usage.outputTokens;
  changeWindows(turn, names, (window) => settleTokens(window, job, reserved, used));
};

/** A job that was over is tried again: what was reserved for it went with what it took. */
export const reserveAgain = (turn: Turn, job: Job): void => {
  const names = job.usage === null ? [] : countedFor(turn, job);
  if (names.length === 0) return;
  const reserved = reservedFor(turn, job);
  changeWindows(turn, names, (window) => ({ ...window, tokens: window.tokens + reserved }));
};
