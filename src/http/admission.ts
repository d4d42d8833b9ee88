// Admits a request: it takes a share of its key, its tenant or its address, or gets 429. A request with a key does so
// before its body is read; one without a key after its small body, so that bodies that never come keep nobody out.
// Self-hosted, heavy requests, the openings of streams, uploads and downloads then wait for their tenant's turn
// (`Home.takeTurn`).

import { MAX_BODY_BYTES } from "../../contract/words/field.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import type { Home, Lane, Work } from "../home.ts";
import type { AppContext } from "./auth.ts";
import { FREE_BODY_BYTES } from "./free-body.ts";
import type { TokenFacts } from "./key-format.ts";
import { laneOf } from "./lanes.ts";
import { Refused } from "./refused.ts";
import { BOUNDS, type Holder, type HolderKind, NO_SHARE, type Share, Shares } from "./shares.ts";

const RETRY_SECONDS = 1;
/** Refusals without a valid key that one address gets at once, and how many more per second. */
const QUICK_REFUSALS = 100;
const REFUSAL_PAUSE_MS = 50;
export const MAX_ADDRESSES = 10_000;

const shares = new Shares();

export interface Admitted {
  /** Requests of the key in progress, including this one; null in the lane that has no rate limit. */
  readonly underWay: number | null;
  readonly share: Share;
  /** The handler is done; its answer may still be on its way. */
  readonly endTurn: () => void;
}

export interface Door {
  readonly lane?: Lane | undefined;
  readonly maxBodyBytes?: number | undefined;
  readonly isBodiless: boolean;
  /** Whether the endpoint takes `?wait`. */
  readonly canWait: boolean;
  /** Whether it needs the root key, which manages tenants and takes no share. */
  readonly isOperator: boolean;
  /** It opens a stream of one job, which has a bound of readers and waits for its turn to begin. */
  readonly readsJob?: boolean | undefined;
  /** It answers with a file's bytes. */
  readonly readsFile?: boolean | undefined;
  /** Its body is stored as it comes. */
  readonly isUpload?: boolean | undefined;
}

/** Behind the edge in Node the app in workerd counts nothing, because the edge has counted already. */
const isBehindOurEdge = (c: AppContext): boolean => (c.env.SERVICE_PRIVATE_SECRET ?? "") !== "";

/** Empty if unknown; all such callers then share one bound. */
const addressOf = (c: AppContext): string => c.env.HOME?.addressOf(c) ?? c.req.header("cf-connecting-ip") ?? "";

const bodyBytesOf = (
  c: AppContext,
  { maxBodyBytes = MAX_BODY_BYTES, isBodiless }: Door,
  declared: string | undefined,
): number => {
  if (isBodiless) return 0;
  if (declared === undefined) return c.req.header("transfer-encoding") === undefined ? 0 : maxBodyBytes;
  return Math.min(Number(declared) || 0, maxBodyBytes);
};

const keyOf = ({ tenant, id }: TokenFacts): string => `${tenant}/${id}`;

/** What the readers of a job have in common: a key that has too many is refused before its tenant is asked. */
const jobOf = (c: AppContext, { readsJob }: Door, token: TokenFacts): Holder[] =>
  readsJob === true ? [{ kind: "job", id: `${keyOf(token)}/${c.req.param("id")}` }] : [];

const holdersOf = (c: AppContext, door: Door, token: TokenFacts | null): Holder[] => {
  if (door.isOperator) return [];
  const all: Holder = { kind: c.env.HOME === undefined ? "isolate" : "process", id: "" };
  if (token !== null)
    return [...jobOf(c, door, token), { kind: "key", id: keyOf(token) }, { kind: "tenant", id: token.tenant }, all];
  const address = addressOf(c);
  return address === "" ? [all] : [{ kind: "stranger", id: address }, all];
};

const NOTHING = (): void => undefined;

/** Where all of the process is in use, it is not the caller's fault. */
export const refusalOf = (full: HolderKind): Refusal => {
  if (full === "job") return { code: "too_many_readers", limit: BOUNDS.waiting.job.requests };
  const isProcess = full === "isolate" || full === "process";
  if (isProcess) return { code: "overloaded", retryAfterSeconds: RETRY_SECONDS, isProcess };
  return { code: "rate_limited", retryAfterSeconds: RETRY_SECONDS };
};

const workOf = ({ readsJob, readsFile, isUpload }: Door, lane: Lane): Work => {
  if (readsJob === true) return "opening";
  if (readsFile === true) return "sending";
  return isUpload === true ? "storing" : lane;
};

/** At once, unless its turn must come. */
export const admit = (c: AppContext, door: Door, token: TokenFacts | null): Admitted | Promise<Admitted> => {
  const declared = c.req.header("content-length");
  const bodyBytes = bodyBytesOf(c, door, declared);
  const isWaiting = door.canWait && Number(c.req.query("wait") ?? 0) > 0;
  const lane = laneOf({ lane: door.lane, bodyBytes, isWaiting });
  // A body of unknown length counts as it arrives (`body.ts`).
  const knownBytes = declared === undefined ? Math.min(bodyBytes, FREE_BODY_BYTES) : bodyBytes;
  const isRated = lane !== "vital" && token !== null;
  if (isBehindOurEdge(c)) return { underWay: isRated ? 1 : null, share: NO_SHARE, endTurn: NOTHING };
  const taken = shares.take(holdersOf(c, door, token), lane, knownBytes, Date.now());
  if (!taken.ok) throw new Refused(refusalOf(taken.error));
  const share = withRoom(taken.value, c, knownBytes);
  const underWay = isRated ? shares.underWay(keyOf(token)) : null;
  const turn = token === null ? null : turnOf(c, workOf(door, lane), token.tenant);
  return turn ? admitInTurn(turn, underWay, share) : { underWay, share, endTurn: NOTHING };
};

type WorkTurn = ReturnType<Home["takeTurn"]> | undefined;

/** The objects' process also holds what a client leaves unread of a file, so the number of these files has a bound. */
const turnOf = (c: AppContext, work: Work, tenant: string): WorkTurn => {
  const { HOME: home } = c.env;
  const place = work === "sending" ? home?.takeTurn(tenant, "sent") : null;
  return place ? beginIn(c, place, () => home?.takeTurn(tenant, work)) : home?.takeTurn(tenant, work);
};

const beginIn = async (
  c: AppContext,
  place: Promise<Admitted["endTurn"]>,
  begin: () => WorkTurn,
): Promise<Admitted["endTurn"]> => {
  c.env.HOME?.onAnswerEnd(c, await place);
  return (await begin()) ?? NOTHING;
};

const admitInTurn = async (
  turn: Promise<Admitted["endTurn"]>,
  underWay: Admitted["underWay"],
  share: Share,
): Promise<Admitted> => {
  try {
    return { underWay, share, endTurn: await turn };
  } catch (error) {
    share.release();
    throw error;
  }
};

/** What a request reads here counts as more of its body, and is read when it is its tenant's turn for heavy work. */
export const asHeavy = async <T>(
  c: AppContext,
  { tenant }: TokenFacts,
  bytes: number,
  work: () => Promise<T>,
): Promise<T> => {
  const grown = c.get("share")?.grow(bytes);
  if (grown?.ok === false) throw new Refused(refusalOf(grown.error));
  return inTurn(c, tenant, "heavy", work);
};

/** Does it when it is the tenant's turn. A file that is sent has a place until its answer has ended. */
export const inTurn = async <T>(c: AppContext, tenant: string, kind: Work, work: () => Promise<T>): Promise<T> => {
  const endTurn = await turnOf(c, kind, tenant);
  try {
    return await work();
  } finally {
    endTurn?.();
  }
};

/** The room on the disk grows with the share, and is given back with it. */
const withRoom = (share: Share, c: AppContext, bytes: number): Share => {
  const { HOME: home } = c.env;
  if (home === undefined) return share;
  const ends = [home.expectWrite(c, bytes)];
  const grow = (more: number): ReturnType<Share["grow"]> => {
    const grown = share.grow(more);
    if (grown.ok) ends.push(home.expectWrite(c, more));
    return grown;
  };
  const release = (): void => {
    for (const end of ends) end();
    share.release();
  };
  return { ...share, grow, release };
};

const refusals = new Map<string, { count: number; at: number }>();

/** Slows down guessing of keys: after a burst, each refusal of an address waits. */
export const slowDown = async (c: AppContext): Promise<void> => {
  const address = addressOf(c);
  if (address === "" || isBehindOurEdge(c)) return;
  const nowAt = Date.now();
  const before = refusals.get(address) ?? { count: 0, at: nowAt };
  const count = Math.max(0, before.count - (Math.abs(nowAt - before.at) / 1000) * QUICK_REFUSALS) + 1;
  if (refusals.size >= MAX_ADDRESSES) refusals.clear();
  refusals.set(address, { count, at: nowAt });
  if (count <= QUICK_REFUSALS) return;
  const taken = shares.take([{ kind: "stranger", id: address }], "usual", 0, nowAt);
  if (!taken.ok) throw new Refused(refusalOf(taken.error));
  await scheduler.wait(REFUSAL_PAUSE_MS);
  taken.value.release();
};
