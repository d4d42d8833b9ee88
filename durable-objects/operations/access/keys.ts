// Tenants and keys. The object stores digests; secrets are made at the edge and shown once. A session and a
// socket end with the secret that opened them.

import { type KeyResource, presentKey } from "../../../contract/access/key.ts";
import {
  type KeyRecord,
  liveHashes,
  type Role,
  revokeKey,
  rotateKey,
  USUAL_WEIGHT,
} from "../../../domain/access/key.ts";
import { type KeyLimits, userOf, waitingOf } from "../../../domain/access/key-limits.ts";
import { mayMakeKey, type Person } from "../../../domain/access/person.ts";
import type { Actor } from "../../../domain/words/event.ts";
import type { Json } from "../../../domain/words/json.ts";
import { notFound, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { type Portion, portionOf } from "../../steps/portion.ts";
import { putOpenCount } from "../../turn/key-counts.ts";
import type { Turn } from "../../turn/turn.ts";
import { lockOut, wakeClaims } from "../fleet/presence.ts";
import { endAsksOf } from "../halts/abandon.ts";
import { putPerson } from "./people.ts";

export interface NewKey {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly hash: string;
  readonly limits?: KeyLimits | null;
  readonly weight?: number;
}

const keyRecord = (asked: NewKey, nowAt: number): KeyRecord => ({
  ...asked,
  limits: asked.limits ?? null,
  weight: asked.weight ?? USUAL_WEIGHT,
  personId: null,
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
  /** The number of its history's database. */
  readonly database: number;
}

export const createTenant = (turn: Turn, request: NewTenant): Result<null, Refusal> => {
  if (turn.store.settings.identity() !== null) return err({ code: "tenant_exists", tenant: request.tenant });
  const { tenant, locationHint, jurisdiction, adminKey, database } = request;
  const identity = { tenant, locationHint, jurisdiction, createdAt: turn.nowAt };
  turn.store.settings.putIdentity(identity);
  turn.store.settings.putHistoryPlace({ at: database, to: null, move: 0 });
  turn.memory.database = database;
  turn.store.keys.put(keyRecord(adminKey, turn.nowAt));
  turn.recordIdentity(identity);
  turn.audit("tenant.created", tenant, { admin_key: adminKey.id });
  return ok(null);
};

/** What a person makes is a key of that person, with at most the own role. */
export const createKey = (turn: Turn, request: NewKey): Result<KeyResource, Refusal> => {
  const person = turn.caller.personId === undefined ? null : turn.store.people.find(turn.caller.personId);
  if (person === null) return addOneMore(turn, keyRecord(request, turn.nowAt));
  const allowed = mayMakeKey(person.role, request.role);
  if (!allowed.ok) return allowed;
  return addPersonalKey(turn, person, request);
};

export const MAX_KEYS = 10_000;
/** Of all keys, with their limits. */
export const MAX_KEY_CHARS = 8 * 1024 * 1024;
const MAX_KEYS_A_PERSON = 500;

/** The limits of a revoked key hold for its batches that are under way. */
const refuseTooMany = ({ store, memory }: Turn, limit = MAX_KEYS): Result<null, Refusal> => {
  const inUse = [...memory.batches.open.values()].map(({ keyId }) => keyId);
  return store.keys.hasRoom(limit, MAX_KEY_CHARS, inUse)
    ? ok(null)
    : err({ code: "too_many_keys", limit: MAX_KEYS, limitChars: MAX_KEY_CHARS });
};

const addOneMore = (turn: Turn, key: KeyRecord, by?: Actor): Result<KeyResource, Refusal> => {
  const room = refuseTooMany(turn);
  return room.ok ? addKey(turn, key, by) : room;
};

export const addPersonalKey = (
  turn: Turn,
  person: Person,
  request: NewKey,
  by: Actor = turn.caller,
): Result<KeyResource, Refusal> => {
  if (turn.store.keys.ofPerson(person.id).length >= MAX_KEYS_A_PERSON) {
    const detail = `you have made ${MAX_KEYS_A_PERSON} keys, which is the maximum: rotate one of them instead`;
    return err({ code: "forbidden", detail });
  }
  const added = addOneMore(turn, { ...keyRecord(request, turn.nowAt), personId: person.id }, by);
  if (!added.ok) return added;
  // From now on its end is due.
  putPerson(turn, person);
  return added;
};

const addKey = (turn: Turn, key: KeyRecord, by: Actor = turn.caller): Result<KeyResource, Refusal> => {
  putKey(turn, key);
  const { limits } = presentKey(key);
  const { name, role, weight } = key;
  const weighed = weight === USUAL_WEIGHT ? {} : { weight };
  const detail = { name, role, ...weighed, ...(limits == null ? {} : { limits: limits as Json }) };
  turn.audit("key.created", key.id, detail, by);
  return ok(presentKey(key));
};

/** Changes name, limits and weight; what the key has used stays counted. */
export const patchKey = (
  turn: Turn,
  request: { id: string; name: string | null; limits: KeyLimits | null | undefined; weight?: number | undefined },
): Result<KeyResource, Refusal> => {
  const found = find(turn, request.id);
  if (!found.ok) return found;
  const key = found.value;
  const limits = request.limits === undefined ? key.limits : request.limits;
  if (JSON.stringify(limits).length > JSON.stringify(key.limits).length) {
    const room = refuseTooMany(turn, Number.POSITIVE_INFINITY);
    if (!room.ok) return room;
  }
  const next = { ...key, name: request.name ?? key.name, limits, weight: request.weight ?? key.weight };
  putKey(turn, next);
  if (request.limits !== undefined) openBatchesOf(turn, key);
  const detail = { name: next.name, weight: next.weight, limits: (presentKey(next).limits ?? null) as Json };
  turn.audit("key.changed", key.id, detail);
  return ok(presentKey(next));
};

/** What the key's limits held may go on. Nothing else waits for them, and all that waits costs too much to look at. */
const openBatchesOf = (turn: Turn, { id: keyId }: KeyRecord): void => {
  const { batches, queue } = turn.memory;
  const own = new Set([...batches.open.values()].filter((batch) => batch.keyId === keyId).map(({ id }) => id));
  for (const id of own) turn.effects.batches.add(id);
  if (own.size === 0) return;
  for (const { key, requirements } of queue.groups.values())
    if (requirements.batch !== null && own.has(requirements.batch)) turn.openedGroups.add(key);
};

/** Jobs of a key with a limit on jobs are counted from now on. */
const putKey = (turn: Turn, key: KeyRecord): void => {
  const { jobs, keys } = turn.store;
  const had = keys.limitsOf(key.id)?.perUser?.concurrent ?? null;
  keys.put(key);
  const { id, limits } = key;
  keepCount(turn, id, limits?.concurrent ?? null, jobs.openCountOf);
  keepCount(turn, id, limits?.maxWaiting ?? null, jobs.waitingCountOf, waitingOf(id));
  const has = limits?.perUser?.concurrent ?? null;
  if (has === null) forgetUsers(turn, id);
  else if (had === null)
    for (const [user, count] of jobs.openCountsByUser(id)) putOpenCount(turn, userOf(id, user), count);
};

const keepCount = (
  turn: Turn,
  keyId: string,
  limit: number | null,
  count: (keyId: string) => number,
  name = keyId,
): void => {
  const { openByKey } = turn.memory;
  if (limit === null) {
    openByKey.delete(name);
    turn.store.keyUse.forgetOpenCount(name);
  } else if (!openByKey.has(name)) putOpenCount(turn, name, count(keyId));
};

const forgetUsers = (turn: Turn, keyId: string): void => {
  for (const name of turn.memory.openByKey.keys())
    if (name.startsWith(userOf(keyId, ""))) turn.memory.openByKey.delete(name);
  turn.store.keyUse.forgetOpenCountsOfUsers(keyId);
};

/** Adds an admin key, for the operator: a tenant whose keys are lost can be recovered. */
export const addAdminKey = (turn: Turn, request: NewKey): Result<KeyResource, Refusal> => {
  const identity = turn.store.settings.identity();
  if (identity === null) return err(notFound("tenant", ""));
  return addKey(turn, keyRecord(request, turn.nowAt));
};

/** One that the caller may see: an administrator any, another person the own ones. */
const find = ({ caller, store }: Turn, id: string): Result<KeyRecord, Refusal> => {
  const key = store.keys.find(id);
  const isSeen = caller.role === "admin" || key?.personId === caller.personId;
  return key === null || !isSeen ? err(notFound("key", id)) : ok(key);
};

/** The first of all, newest first, or of those with these ids. */
export const listKeys = (
  turn: Turn,
  request: { ids: readonly string[] } | null,
): Result<Portion<KeyResource>, Refusal> => {
  const { caller, store } = turn;
  const ids = request?.ids ?? store.keys.newestIds(caller.role === "admin" ? null : (caller.personId ?? ""));
  return ok(
    portionOf(ids, (id) => {
      const found = find(turn, id);
      return found.ok ? presentKey(found.value) : null;
    }),
  );
};

export const rotate = (
  turn: Turn,
  request: { id: string; hash: string; graceMs: number },
): Result<KeyResource, Refusal> => {
  const found = find(turn, request.id);
  if (!found.ok) return found;
  const key = found.value;
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
  const found = find(turn, request.id);
  if (!found.ok) return found;
  const key = found.value;
  const revoked = revokeKey(key, turn.store.keys.twoAdmins(), turn.nowAt);
  if (!revoked.ok) return revoked;
  turn.store.keys.put(revoked.value);
  turn.audit("key.revoked", key.id, { name: key.name });
  endOpened(turn, revoked.value);
  lockOut(turn, key.id);
  return ok(null);
};

/** Ends the sessions, sockets and front-door requests that were opened with a secret that is no longer valid. */
const endOpened = (turn: Turn, key: KeyRecord): void => {
  const live = liveHashes(key, turn.nowAt);
  turn.store.sessions.removeOpenedWithout(key.id, live);
  turn.effects.endedKeys.set(key.id, live);
  wakeClaims(turn, key.id);
  endAsksOf(turn, key.id, live);
};

/** Ends what was opened with an old secret whose grace has ended. */
export const endGraces = (turn: Turn): void => {
  for (const key of turn.store.keys.withEndedGrace(turn.nowAt)) {
    const ended = { ...key, previousUntilAt: null };
    turn.store.keys.put(ended);
    endOpened(turn, ended);
  }
  turn.due(turn.store.keys.nextGraceEndAt());
};
