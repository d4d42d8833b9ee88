// The limits of a key, checked in the turn that creates the job: exact, because one object sees every request.

import {
  type Demand,
  fitsTokens,
  type KeyLimits,
  type Left,
  mayUseModel,
  type UseLimits,
  userOf,
  WINDOW_MS,
  waitingOf,
  windowAt,
} from "../../domain/access/key-limits.ts";
import { periodAt } from "../../domain/money/period.ts";
import { usdFromNano } from "../../domain/money/price.ts";
import type { Refusal, RefusalOf } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";
import { type Request, tokensAsked, usersOf } from "./demand.ts";

/** People that a key may be used for within a minute: each has a count. */
export const MAX_USERS_A_KEY = 10_000;

/** The state of a key's limits a minute, or of its person's where that has less left. */
export interface LimitState {
  readonly requests: Left | null;
  readonly tokens: Left | null;
}

/** One whose use is limited: the caller's key, or a person that its requests name. */
interface Limited {
  /** Under which its use is counted. */
  readonly name: string;
  /** As a refusal calls it. */
  readonly who: string;
  readonly limits: UseLimits;
  readonly demand: Demand;
}

const limitsOf = (turn: Turn, keyId = turn.caller.keyId): { keyId: string; limits: KeyLimits } | null => {
  const limits = turn.store.keys.limitsOf(keyId);
  return keyId === null || limits === null ? null : { keyId, limits };
};

const demandOf = (limits: UseLimits, requests: readonly Request[]): Demand => ({
  count: requests.length,
  tokens: limits.tokensPerMinute === null ? 0 : requests.reduce((sum, one) => sum + tokensAsked(one), 0),
});

/** The key first, then the people. */
const limitedBy = (keyId: string, limits: KeyLimits, requests: readonly Request[]): Limited[] => {
  const key = { name: keyId, who: "this key", limits, demand: demandOf(limits, requests) };
  const { perUser } = limits;
  if (perUser === null) return [key];
  const people = [...usersOf(requests)].map(([user, own]) => ({
    name: userOf(keyId, user),
    who: `user "${user}" of this key`,
    limits: perUser,
    demand: demandOf(perUser, own),
  }));
  return [key, ...people];
};

/** Patterns of the models that the caller's key may use; null: all. */
export const allowedModels = (turn: Turn): readonly string[] | null => limitsOf(turn)?.limits.models ?? null;

/** Whether the caller's key may use a model, under any of its names; null means any model. */
export const refuseModel = (turn: Turn, names: readonly (string | null)[]): Result<null, Refusal> => {
  const models = allowedModels(turn);
  if (models === null || names.some((name) => name !== null && mayUseModel(models, name))) return ok(null);
  const asked = names[0] ?? null;
  const what = asked === null ? "jobs that name no model" : `model "${asked}"`;
  return err({ code: "forbidden", detail: `this key does not allow ${what}; it allows ${models.join(", ")}` });
};

/** Whether it may use all of them. */
export const refuseModels = (turn: Turn, models: readonly (string | null)[]): Result<null, Refusal> =>
  models.map((model) => refuseModel(turn, [model])).find((one) => !one.ok) ?? ok(null);

/** Whether its jobs may go to a provider that the coordinator calls itself. */
export const mayUseEdge = (turn: Turn): boolean => limitsOf(turn)?.limits.edge !== false;

export const refuseOverLimits = (
  turn: Turn,
  names: readonly (string | null)[],
  requests: readonly Request[],
  waitingCount?: number,
): Result<null, Refusal> => {
  const allowed = refuseModel(turn, names);
  return allowed.ok ? refuseOverUse(turn, requests, waitingCount) : allowed;
};

/** The limits that hold whatever the model. `waitingCount` of the requests may have to wait. */
export const refuseOverUse = (
  turn: Turn,
  requests: readonly Request[],
  waitingCount: number = requests.length,
): Result<null, Refusal> => {
  const held = limitsOf(turn);
  if (held === null) return ok(null);
  const { keyId, limits } = held;
  for (const limited of limitedBy(keyId, limits, requests)) {
    const refused = refuseOverWindow(turn, limited) ?? refuseOverOpen(turn, limited);
    if (refused !== null) return err(refused);
  }
  const waiting = refuseOverWaiting(turn, waitingCount);
  return waiting.ok ? refuseOverMoney(turn, limitedBy(keyId, limits, requests), limits.monthNanoUsd) : waiting;
};

/** The limit on jobs that wait, if so many more do. */
export const refuseOverWaiting = (turn: Turn, count: number): Result<null, Refusal> => {
  const held = limitsOf(turn);
  const most = held?.limits.maxWaiting ?? null;
  if (held === null || most === null || count === 0) return ok(null);
  const waiting = turn.memory.openByKey.get(waitingOf(held.keyId)) ?? 0;
  return waiting + count > most
    ? err(exceeded(`this key may have ${plural(most, "job")} waiting, and has ${waiting}`, OPEN_RETRY_MS))
    : ok(null);
};

/** How soon a job may have ended. */
const OPEN_RETRY_MS = 1_000;

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

const exceeded = (detail: string, retryAfterMs: number, more: Partial<Exceeded> = {}): Exceeded => ({
  code: "rate_limit_exceeded",
  detail,
  retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)),
  requestsPerMinute: null,
  tokensPerMinute: null,
  ...more,
});

type Exceeded = RefusalOf<"rate_limit_exceeded">;

const refuseOverWindow = (turn: Turn, { name, who, limits, demand }: Limited): Refusal | null => {
  const { requestsPerMinute, tokensPerMinute } = limits;
  if (requestsPerMinute === null && tokensPerMinute === null) return null;
  const known = turn.store.keyUse.window(name);
  if (known === null && isCrowded(turn, name))
    return exceeded(`this key may be used for ${MAX_USERS_A_KEY} users a minute`, WINDOW_MS);
  const window = windowAt(known, turn.nowAt);
  const resetMs = window.startedAt + WINDOW_MS - turn.nowAt;
  if (requestsPerMinute !== null && window.count + demand.count > requestsPerMinute)
    return exceeded(`${who} may make ${plural(requestsPerMinute, "request")} a minute`, resetMs, {
      requestsPerMinute,
    });
  if (tokensPerMinute === null || demand.count === 0 || fitsTokens(tokensPerMinute, window, demand)) return null;
  const used = `${window.tokens} are used, and this needs about ${demand.tokens}`;
  return exceeded(`${who} may use ${plural(tokensPerMinute, "token")} a minute: ${used}`, resetMs, {
    tokensPerMinute,
  });
};

/** Whether so many people have a count that another one has no place; those whose minute is over lose theirs first. */
const isCrowded = (turn: Turn, name: string): boolean => {
  const end = name.indexOf("/");
  if (end < 0) return false;
  const keyId = name.slice(0, end);
  const { keyUse } = turn.store;
  if (keyUse.windowsOfUsers(keyId) < MAX_USERS_A_KEY) return false;
  keyUse.forgetWindows(turn.nowAt - WINDOW_MS);
  return keyUse.windowsOfUsers(keyId) >= MAX_USERS_A_KEY;
};

const refuseOverOpen = (turn: Turn, { name, who, limits, demand }: Limited): Refusal | null => {
  const open = turn.memory.openByKey.get(name) ?? 0;
  if (limits.concurrent === null || open + demand.count <= limits.concurrent) return null;
  return exceeded(`${who} may make ${plural(limits.concurrent, "request")} at a time`, OPEN_RETRY_MS);
};

const refuseOverMoney = (
  turn: Turn,
  limited: readonly Limited[],
  monthNanoUsd: number | null,
): Result<null, Refusal> => {
  for (const [at, { name, who, limits }] of limited.entries()) {
    for (const [period, limitNano] of [
      ["day", limits.dayNanoUsd],
      ["month", at === 0 ? monthNanoUsd : null],
    ] as const) {
      if (limitNano === null) continue;
      const { fromAt, toAt } = periodAt(period, turn.nowAt);
      const spent = turn.store.keyUse.spentBetween(name, fromAt, toAt);
      if (spent < limitNano) continue;
      const spentOf = `${usdFromNano(spent)} of the ${usdFromNano(limitNano)} USD that it may spend a ${period}`;
      const detail = `${who} has spent ${spentOf}; it resets at ${new Date(toAt).toISOString()}`;
      return err({ code: "insufficient_quota", detail });
    }
  }
  return ok(null);
};

/** Why a key's lines of batches wait: of its limits only those on money and models hold for them. */
export const heldByMoney = (turn: Turn, keyId: string | null): string | null => {
  const held = limitsOf(turn, keyId);
  if (held === null) return null;
  const within = refuseOverMoney(turn, limitedBy(held.keyId, held.limits, []), held.limits.monthNanoUsd);
  return within.ok || within.error.code !== "insufficient_quota" ? null : within.error.detail;
};

/** Counts requests that created jobs; returns the state of the caller's limits, or null if the key has none a minute. */
export const countRequest = (turn: Turn, isNew: boolean, requests: readonly Request[]): LimitState | null => {
  const held = limitsOf(turn);
  if (held === null) return null;
  const states = limitedBy(held.keyId, held.limits, requests).map((limited) => countOne(turn, isNew, limited));
  const least = (name: keyof LimitState): Left | null =>
    states.reduce<Left | null>((found, state) => {
      const left = state[name];
      return left !== null && (found === null || left.remaining < found.remaining) ? left : found;
    }, null);
  const state = { requests: least("requests"), tokens: least("tokens") };
  return state.requests === null && state.tokens === null ? null : state;
};

const countOne = (turn: Turn, isNew: boolean, { name, limits, demand }: Limited): LimitState => {
  const { requestsPerMinute, tokensPerMinute } = limits;
  if (requestsPerMinute === null && tokensPerMinute === null) return { requests: null, tokens: null };
  const window = windowAt(turn.store.keyUse.window(name), turn.nowAt);
  const counted = { ...window, count: window.count + demand.count, tokens: window.tokens + demand.tokens };
  if (isNew) turn.store.keyUse.putWindow(name, counted);
  const { startedAt, count, tokens } = isNew ? counted : window;
  const resetMs = Math.max(0, startedAt + WINDOW_MS - turn.nowAt);
  const left = (limit: number | null, used: number): Left | null =>
    limit === null ? null : { limit, remaining: Math.max(0, limit - used), resetMs };
  return { requests: left(requestsPerMinute, count), tokens: left(tokensPerMinute, tokens) };
};

/**
 * Charges the cost of an attempt to the key that created the job, whose limit may be given later in the day or the
 * month, and to its person, if people have a limit.
 */
export const chargeKey = (
  turn: Turn,
  { keyId, fairnessKey: user }: { readonly keyId: string | null; readonly fairnessKey: string | null },
  dayAt: number,
  nanoUsd: number,
): void => {
  if (keyId === null) return;
  turn.store.keyUse.addSpent(keyId, dayAt, nanoUsd);
  if (user !== null && turn.store.keys.limitsOf(keyId)?.perUser?.dayNanoUsd != null)
    turn.store.keyUse.addSpent(userOf(keyId, user), dayAt, nanoUsd);
};
