// Admits a request before its body is read: it takes a share of its key, its tenant or its address, or gets 429.
// Self-hosted, heavy requests then wait for their tenant's turn (`Home.takeTurn`).

import { MAX_BODY_BYTES } from "../../contract/field.ts";
import type { Lane } from "../home.ts";
import type { AppContext } from "./auth.ts";
import type { TokenFacts } from "./key-format.ts";
import { laneOf } from "./lanes.ts";
import { Refused } from "./refused.ts";
import { type Holder, Shares } from "./shares.ts";

const RETRY_SECONDS = 1;
/** Refusals without a valid key that one address gets at once, and how many more per second. */
const QUICK_REFUSALS = 100;
const REFUSAL_PAUSE_MS = 50;
const MAX_ADDRESSES = 10_000;

const shares = new Shares();

export interface Admitted {
  /** Requests of the key in progress, including this one; null in the lane that has no rate limit. */
  readonly underWay: number | null;
  readonly leave: () => void;
}

export interface Door {
  readonly lane?: Lane | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly isBodiless: boolean;
  /** Whether the endpoint takes `?wait`. */
  readonly canWait: boolean;
  /** Whether it needs the root key, which manages tenants and takes no share. */
  readonly isOperator: boolean;
}

/** Behind the edge in Node the app in workerd counts nothing, because the edge has counted already. */
const isBehindOurEdge = (c: AppContext): boolean => (c.env.SERVICE_PRIVATE_SECRET ?? "") !== "";

/** Empty if unknown; all such callers then share one bound. */
const addressOf = (c: AppContext): string => c.env.HOME?.addressOf(c) ?? c.req.header("cf-connecting-ip") ?? "";

const bodyBytesOf = (c: AppContext, { maxBodyBytes = MAX_BODY_BYTES, isBodiless }: Door): number => {
  if (isBodiless) return 0;
  const declared = c.req.header("content-length");
  if (declared === undefined) return c.req.header("transfer-encoding") === undefined ? 0 : maxBodyBytes;
  return Math.min(Number(declared) || 0, maxBodyBytes);
};

const keyOf = ({ tenant, id }: TokenFacts): string => `${tenant}/${id}`;

const holdersOf = (c: AppContext, { isOperator }: Door, token: TokenFacts | null): Holder[] => {
  if (isOperator) return [];
  if (token !== null)
    return [
      { kind: "key", id: keyOf(token) },
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
  const underWay = isRated ? shares.underWay(keyOf(token)) : null;
  const turn = token === null ? null : c.env.HOME?.takeTurn(token.tenant, lane);
  if (!turn) return { underWay, leave };
  try {
    const endTurn = await turn;
    const leaveBoth = (): void => {
      endTurn();
      leave();
    };
    return { underWay, leave: leaveBoth };
  } catch (error) {
    leave();
    throw error;
  }
};

const refusals = new Map<string, { count: number; at: number }>();

/** Slows down guessing of keys: after a burst, each refusal of an address waits. */
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
