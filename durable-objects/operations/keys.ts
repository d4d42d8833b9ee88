// Tenants, keys and sessions. The object stores digests; secrets are made at the edge and shown once. A session and a
// socket end with the secret that opened them.

import { toIso } from "../../contract/field.ts";
import { type KeyResource, presentKey } from "../../contract/key.ts";
import type { SessionAnswer } from "../../contract/session.ts";
import {
  AUTHENTICATION_FAILED,
  authenticate,
  type KeyRecord,
  liveHashes,
  type Role,
  revokeKey,
  rotateKey,
} from "../../domain/access/key.ts";
import type { KeyLimits } from "../../domain/access/key-limits.ts";
import { HOUR_MS } from "../../domain/words/duration.ts";
import type { Json } from "../../domain/words/json.ts";
import { notFound, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Store } from "../store/open.ts";
import type { Caller, Turn } from "../turn/turn.ts";
import { endAsksOf } from "./abandon.ts";
import { lockOut } from "./presence.ts";

/** What the edge found in a bearer key or a cookie: public ids, and the digest of the whole token. */
export interface Credential {
  readonly kind: "key" | "session";
  readonly id: string;
  readonly hash: string;
  /** The request's id, for the log and the job's events. */
  readonly requestId?: string | undefined;
  /** Requests of the key in progress at the edge, including this one, if it counts against the limits. */
  readonly underWay?: number | undefined;
}

const USE_NOTED_EVERY_MS = 60_000;
const SESSION_MS = 12 * HOUR_MS;

/** Identifies the caller; records the key's use from time to time. */
export const identify = (store: Store, credential: Credential, nowAt: number): Result<Caller, Refusal> => {
  const { kind, id: keyId, hash } = credential;
  const key = kind === "key" ? opened(store, keyId, hash, nowAt) : keyOfSession(store, credential, nowAt);
  if (!key.ok) return key;
  const { id, name, role, lastUsedAt } = key.value;
  if (lastUsedAt === null || nowAt - lastUsedAt >= USE_NOTED_EVERY_MS) noteUse(store, id, nowAt);
  const { requestId } = credential;
  const caller = { keyId: id, name, role, secretHash: key.value.secretHash };
  return ok(requestId === undefined ? caller : { ...caller, requestId });
};

const noteUse = (store: Store, id: string, nowAt: number): void => {
  const key = store.keys.find(id);
  if (key !== null) store.keys.put({ ...key, lastUsedAt: nowAt });
};

/** A key, and the digest of the secret that the caller used or opened a session with. */
type Identified = KeyRecord & { readonly secretHash: string };

const opened = (store: Store, keyId: string, secretHash: string, nowAt: number): Result<Identified, Refusal> => {
  const key = authenticate(store.keys.find(keyId), secretHash, nowAt);
  return key.ok ? ok({ ...key.value, secretHash }) : key;
};

const keyOfSession = (store: Store, credential: Credential, nowAt: number): Result<Identified, Refusal> => {
  const session = store.sessions.find(credential.id);
  if (session === null || session.hash !== credential.hash || session.expiresAt <= nowAt)
    return err(AUTHENTICATION_FAILED);
  const key = opened(store, session.keyId, session.keyHash, nowAt);
  return key.ok ? key : err(AUTHENTICATION_FAILED);
};

export interface NewKey {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly hash: string;
  readonly limits?: KeyLimits | null;
}

const keyRecord = (asked: NewKey, nowAt: number): KeyRecord => ({
  ...asked,
  limits: asked.limits ?? null,
  createdAt: nowAt,
  lastUsedAt: null,
  revokedAt: null,
  previousHash: null,
  previousUntilAt: null,
});

export interface NewTenant {
  readonly tenant: string;
  readonly locationHint: DurableObjectLocationHint | null;
  readonly jurisdiction: "eu" | "fedramp" | null;
  readonly adminKey: NewKey;
}

export const createTenant = (turn: Turn, request: NewTenant): Result<null, Refusal> => {
  if (turn.store.settings.identity() !== null) return err({ code: "tenant_exists", tenant: request.tenant });
  const { tenant, locationHint, jurisdiction, adminKey } = request;
  const identity = { tenant, locationHint, jurisdiction, createdAt: turn.nowAt };
  turn.store.settings.putIdentity(identity);
  turn.store.keys.put(keyRecord(adminKey, turn.nowAt));
  turn.recordIdentity(identity);
  turn.audit("tenant.created", tenant, { admin_key: adminKey.id });
  return ok(null);
};

export const createKey = (turn: Turn, request: NewKey): Result<KeyResource, Refusal> => {
  const key = keyRecord(request, turn.nowAt);
  putKey(turn, key);
  const { limits } = presentKey(key);
  turn.audit("key.created", key.id, {
    name: key.name,
    role: key.role,
    ...(limits == null ? {} : { limits: limits as Json }),
  });
  return ok(presentKey(key));
};

/** Changes name and limits; what the key has used stays counted. */
export const patchKey = (
  turn: Turn,
  request: { id: string; name: string | null; limits: KeyLimits | null | undefined },
): Result<KeyResource, Refusal> => {
  const key = turn.store.keys.find(request.id);
  if (key === null) return err(notFound("key", request.id));
  const limits = request.limits === undefined ? key.limits : request.limits;
  const next = { ...key, name: request.name ?? key.name, limits };
  putKey(turn, next);
  turn.audit("key.changed", key.id, { name: next.name, limits: (presentKey(next).limits ?? null) as Json });
  return ok(presentKey(next));
};

/** Jobs of a key with a limit on jobs are counted from now on. */
const putKey = (turn: Turn, key: KeyRecord): void => {
  const { memory, store } = turn;
  store.keys.put(key);
  if (key.limits?.concurrent == null) {
    memory.openByKey.delete(key.id);
    store.keyUse.forgetOpenCount(key.id);
  } else if (!memory.openByKey.has(key.id)) turn.putOpenCount(key.id, store.jobs.openCountOf(key.id));
};

/** Adds an admin key, for the operator: a tenant whose keys are lost can be recovered. */
export const addAdminKey = (turn: Turn, request: NewKey): Result<KeyResource, Refusal> => {
  const identity = turn.store.settings.identity();
  if (identity === null) return err(notFound("tenant", ""));
  return createKey(turn, request);
};

export const listKeys = (turn: Turn): Result<KeyResource[], Refusal> => ok(turn.store.keys.all().map(presentKey));

export const rotate = (
  turn: Turn,
  request: { id: string; hash: string; graceMs: number },
): Result<KeyResource, Refusal> => {
  const key = turn.store.keys.find(request.id);
  if (key === null) return err(notFound("key", request.id));
  const rotated = rotateKey(key, request.hash, request.graceMs, turn.nowAt);
  if (!rotated.ok) return rotated;
  if (rotated.value === key) return ok(presentKey(key));
  turn.store.keys.put(rotated.value);
  turn.audit("key.rotated", key.id, { name: key.name, grace_seconds: request.graceMs / 1000 });
  endOpened(turn, rotated.value);
  if (request.graceMs > 0) turn.due(turn.nowAt + request.graceMs);
  return ok(presentKey(rotated.value));
};

export const revoke = (turn: Turn, request: { id: string }): Result<null, Refusal> => {
  const keys = turn.store.keys.all();
  const key = keys.find((one) => one.id === request.id);
  if (key === undefined) return err(notFound("key", request.id));
  const liveAdmins = keys.filter((one) => one.role === "admin" && one.revokedAt === null).length;
  const revoked = revokeKey(key, liveAdmins, turn.nowAt);
  if (!revoked.ok) return revoked;
  turn.store.keys.put(revoked.value);
  turn.audit("key.revoked", key.id, { name: key.name });
  endOpened(turn, revoked.value);
  lockOut(turn, key.id);
  endAsksOf(turn, key.id);
  return ok(null);
};

/** Ends the sessions and sockets that were opened with a secret that is no longer valid. */
const endOpened = (turn: Turn, key: KeyRecord): void => {
  const live = liveHashes(key, turn.nowAt);
  turn.store.sessions.removeOpenedWithout(key.id, live);
  turn.effects.endedKeys.set(key.id, live);
};

/** Closes sockets that were opened with an old secret whose grace has ended. */
export const endGraces = (turn: Turn): void => {
  for (const key of turn.store.keys.withEndedGrace(turn.nowAt)) {
    const ended = { ...key, previousUntilAt: null };
    turn.store.keys.put(ended);
    endOpened(turn, ended);
  }
  turn.due(turn.store.keys.nextGraceEndAt());
};

/** Signing in once more ends the oldest session of the key. */
export const MAX_SESSIONS_A_KEY = 100;

export const createSession = (
  turn: Turn,
  request: { id: string; hash: string },
): Result<Omit<SessionAnswer, "tenant">, Refusal> => {
  const { keyId, name, role, secretHash } = turn.caller;
  if (keyId === null || secretHash === undefined) return err(AUTHENTICATION_FAILED);
  const expiresAt = turn.nowAt + SESSION_MS;
  turn.store.sessions.put({ id: request.id, keyId, keyHash: secretHash, hash: request.hash, expiresAt });
  for (const id of turn.store.sessions.removeBeyond(keyId, MAX_SESSIONS_A_KEY)) turn.effects.endedSessions.add(id);
  turn.due(expiresAt);
  return ok({ role, name, expires_at: toIso(expiresAt) });
};

/** The signed-in key, and when the session ends; a bearer key has no end. */
export const readSession = (
  turn: Turn,
  request: { id: string | null },
): Result<Omit<SessionAnswer, "tenant">, Refusal> => {
  const { name, role } = turn.caller;
  const session = request.id === null ? null : turn.store.sessions.find(request.id);
  return ok({ role, name, expires_at: session === null ? null : toIso(session.expiresAt) });
};

export const endSession = (turn: Turn, request: { id: string }): Result<null, Refusal> => {
  turn.store.sessions.remove(request.id);
  turn.effects.endedSessions.add(request.id);
  return ok(null);
};
