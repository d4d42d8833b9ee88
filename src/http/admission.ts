// A request is let in before anything of its body is read: with a share of its key's, its tenant's or its address's, or
// with 429. Self-hosted, what is heavy then waits for its tenant's turn (`Home.takeTurn`).

import { MAX_BODY_BYTES } from "../../contract/field.ts";
import type { AppContext } from "./auth.ts";
import type { TokenFacts } from "./key-format.ts";
import { type Lane, laneOf } from "./lanes.ts";
import { Refused } from "./refused.ts";
import { type Holder, Shares } from "./shares.ts";

const RETRY_SECONDS = 1;
/** Refusals of strangers at one address that are answered at once: so many, and so many more each second. */
const QUICK_REFUSALS = 100;
const REFUSAL_PAUSE_MS = 50;
const MAX_ADDRESSES = 10_000;

const shares = new Shares();

export interface Admitted {
  /** How many requests the key has under way, this one included; null in the lane that no rate is held against. */
  readonly underWay: number | null;
  readonly leave: () => void;
}

export interface Door {
  readonly lane?: Lane | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly isBodiless: boolean;
  /** It takes `?wait`. */
  readonly canWait: boolean;
  /** The operator's own: the root key manages tenants, and nobody's share is asked for. */
  readonly isOperator: boolean;
}

/** Behind the edge in Node the app in workerd counts nothing: that was done in front of it. */
const isBehindOurEdge = (c: AppContext): boolean => (c.env.SERVICE_PRIVATE_SECRET ?? "") !== "";

/** Empty where nobody tells: all that is known then is that they show no key. */
const addressOf = (c: AppContext): string => c.env.HOME?.addressOf(c) ?? c.req.header("cf-connecting-ip") ?? "";

const bodyBytesOf = (c: AppContext, { maxBodyBytes = MAX_BODY_BYTES, isBodiless }: Door): number => {
  if (isBodiless) return 0;
  const declared = c.req.header("content-length");
  if (declared === undefined) return c.req.header("transfer-encoding") === undefined ? 0 : maxBodyBytes;
  return Math.min(Number(declared) || 0, maxBodyBytes);
};

const holdersOf = (c: AppContext, { isOperator }: Door, token: TokenFacts | null): Holder[] => {
  if (isOperator) return [];
  if (token !== null)
    return [
      { kind: "key", id: `${token.tenant}/${token.id}` },
      { kind: "tenant", id: token.tenant },
    ];
  const address = addressOf(c);
  return address === "" ? [] : [{ kind: "stranger", id: address }];
};

export const admit = async (c: AppContext, door: Door, token: TokenFacts | null): Promise<Admitted> => {
  const bodyBytes = bodyBytesOf(c, door);
  const isWaiting = door.canWait && Number(c.req.query("wait") ?? 0) > 0;
  const lane = laneOf({ lane: door.lane, bodyBytes, isWaiting });
  const isRated = lane !== "vital" && token !== null;
  if (isBehindOurEdge(c)) return { underWay: isRated ? 1 : null, leave: () => undefined };
  const leave = shares.take(holdersOf(c, door, token), lane, bodyBytes, Date.now());
  if (leave === null) throw new Refused({ code: "rate_limited", retryAfterSeconds: RETRY_SECONDS });
  const underWay = isRated ? shares.underWay(`${token.tenant}/${token.id}`) : null;
  if (token === null) return { underWay, leave };
  try {
    const endTurn = await c.env.HOME?.takeTurn(token.tenant, lane);
    const leaveBoth = (): void => {
      endTurn?.();
      leave();
    };
    return { underWay, leave: leaveBoth };
  } catch (error) {
    leave();
    throw error;
  }
};

const refusals = new Map<string, { count: number; at: number }>();

/** Guessing keys is slow from one address: past a quick start each refusal waits. */
export const slowDown = async (c: AppContext): Promise<void> => {
  const address = addressOf(c);
  if (address === "" || isBehindOurEdge(c)) return;
  const nowAt = Date.now();
  const before = refusals.get(address) ?? { count: 0, at: nowAt };
  const count = Math.max(0, before.count - ((nowAt - before.at) / 1000) * QUICK_REFUSALS) + 1;
  if (refusals.size >= MAX_ADDRESSES) refusals.clear();
  refusals.set(address, { count, at: nowAt });
  if (count <= QUICK_REFUSALS) return;
  const leave = shares.take([{ kind: "stranger", id: address }], "usual", 0, nowAt);
  if (leave === null) throw new Refused({ code: "rate_limited", retryAfterSeconds: RETRY_SECONDS });
  await scheduler.wait(REFUSAL_PAUSE_MS);
  leave();
};
