// The limits of a key, checked in the turn that creates the job: exact, because one object sees every request.

import {
  type KeyLimits,
  mayUseModel,
  type RequestWindow,
  WINDOW_MS,
  windowAt,
} from "../../domain/access/key-limits.ts";
import { periodAt } from "../../domain/money/period.ts";
import { usdFromNano } from "../../domain/money/price.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";

/** The state of a key's limit on requests per minute. */
export interface LimitState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetMs: number;
}

const limitsOf = (turn: Turn): { keyId: string; limits: KeyLimits } | null => {
  const { keyId } = turn.caller;
  const limits = keyId === null ? null : (turn.store.keys.find(keyId)?.limits ?? null);
  return keyId === null || limits === null ? null : { keyId, limits };
};

/** Whether the caller's key may use a model, under any of its names; null means any model. */
export const refuseModel = (turn: Turn, names: readonly (string | null)[]): Result<null, Refusal> => {
  const models = limitsOf(turn)?.limits.models ?? null;
  if (models === null || names.some((name) => name !== null && mayUseModel(models, name))) return ok(null);
  const asked = names[0] ?? null;
  const what = asked === null ? "jobs that name no model" : `model "${asked}"`;
  return err({ code: "forbidden", detail: `this key does not allow ${what}; it allows ${models.join(", ")}` });
};

/** Whether its jobs may go to a provider that the coordinator calls itself. */
export const mayUseEdge = (turn: Turn): boolean => limitsOf(turn)?.limits.edge !== false;

/** `count`: the number of jobs to create. */
export const refuseOverLimits = (turn: Turn, names: readonly (string | null)[], count = 1): Result<null, Refusal> => {
  const allowed = refuseModel(turn, names);
  return allowed.ok ? refuseOverUse(turn, count) : allowed;
};

/** The limits that hold whatever the model. */
export const refuseOverUse = (turn: Turn, count = 1): Result<null, Refusal> => {
  const held = limitsOf(turn);
  if (held === null) return ok(null);
  const { keyId, limits } = held;
  const rate = limits.requestsPerMinute;
  const window = windowAt(turn.store.keyUse.window(keyId), turn.nowAt);
  if (rate !== null && window.count + count > rate) {
    return err(exceeded(`${rate} requests a minute`, window.startedAt + WINDOW_MS - turn.nowAt, rate));
  }
  const open = turn.memory.openByKey.get(keyId) ?? 0;
  if (limits.concurrent !== null && open + count > limits.concurrent) {
    return err(exceeded(`${limits.concurrent} requests at a time`, CONCURRENT_RETRY_MS));
  }
  return refuseOverMoney(turn, keyId, limits);
};

const CONCURRENT_RETRY_MS = 1_000;

const exceeded = (what: string, retryAfterMs: number, requestsPerMinute: number | null = null): Refusal => ({
  code: "rate_limit_exceeded",
  detail: `this key may make ${what}`,
  retryAfterSeconds: Math.max(1, Math.ceil(retryAfterMs / 1000)),
  requestsPerMinute,
});

const refuseOverMoney = (turn: Turn, keyId: string, limits: KeyLimits): Result<null, Refusal> => {
  for (const [period, limitNano] of [
    ["day", limits.dayNanoUsd],
    ["month", limits.monthNanoUsd],
  ] as const) {
    if (limitNano === null) continue;
    const { fromAt, toAt } = periodAt(period, turn.nowAt);
    const spent = turn.store.keyUse.spentBetween(keyId, fromAt, toAt);
    if (spent < limitNano) continue;
    const detail = `this key has spent ${usdFromNano(spent)} of the ${usdFromNano(limitNano)} USD that it may spend a ${period}`;
    return err({ code: "insufficient_quota", detail });
  }
  return ok(null);
};

/** Why a key's lines of batches wait: of its limits only those on money and models hold for them. */
export const heldByMoney = (turn: Turn, keyId: string | null): string | null => {
  const limits = keyId === null ? null : (turn.store.keys.find(keyId)?.limits ?? null);
  const within = keyId === null || limits === null ? ok(null) : refuseOverMoney(turn, keyId, limits);
  return within.ok || within.error.code !== "insufficient_quota" ? null : within.error.detail;
};

/** Counts requests that created jobs; returns the state of the caller's limit, or null if the key has none. */
export const countRequest = (turn: Turn, isNew: boolean, count = 1): LimitState | null => {
  const held = limitsOf(turn);
  const rate = held?.limits.requestsPerMinute ?? null;
  if (held === null || rate === null) return null;
  const window: RequestWindow = windowAt(turn.store.keyUse.window(held.keyId), turn.nowAt);
  const counted = isNew ? { ...window, count: window.count + count } : window;
  if (isNew) turn.store.keyUse.putWindow(held.keyId, counted);
  const resetMs = Math.max(0, counted.startedAt + WINDOW_MS - turn.nowAt);
  return { limit: rate, remaining: Math.max(0, rate - counted.count), resetMs };
};

/** Charges the cost of an attempt to the key that created the job, if the key has limits. */
export const chargeKey = (turn: Turn, keyId: string | null, dayAt: number, nanoUsd: number): void => {
  if (keyId === null || nanoUsd <= 0 || (turn.store.keys.find(keyId)?.limits ?? null) === null) return;
  turn.store.keyUse.addSpent(keyId, dayAt, nanoUsd);
};
