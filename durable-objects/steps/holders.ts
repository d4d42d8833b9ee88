// Who calls: the holder of a key, or a person in a session. Every turn asks the same question of either holder, of the
// stored rows, so that a revoked key, a blocked person and a changed role count at once for requests, sockets and keys.

import { AUTHENTICATION_FAILED, authenticate, type KeyRecord } from "../../domain/access/key.ts";
import { type Person, personalRole, personText } from "../../domain/access/person.ts";
import { type Actor, PERSON_PREFIX } from "../../domain/words/event.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Store } from "../store/open.ts";
import type { Caller } from "../turn/turn.ts";

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

/** Identifies the caller; records the key's use from time to time. */
export const identify = (store: Store, credential: Credential, nowAt: number): Result<Caller, Refusal> => {
  const caller =
    credential.kind === "key"
      ? callerOfKey(store, credential.id, credential.hash, nowAt)
      : callerOfSession(store, credential, nowAt);
  if (!caller.ok) return caller;
  const { requestId } = credential;
  return requestId === undefined ? caller : ok({ ...caller.value, requestId });
};

/** The caller with a key's secret. */
const callerOfKey = (store: Store, keyId: string, secretHash: string, nowAt: number): Result<Caller, Refusal> => {
  const key = authenticate(store.keys.find(keyId), secretHash, nowAt);
  if (!key.ok) return key;
  const caller = holderOf(store, key.value, nowAt);
  if (!caller.ok) return caller;
  noteUse(store, key.value, nowAt);
  return ok({ ...caller.value, secretHash });
};

/** A key acts with its own role, a personal one with at most that of its person. */
const holderOf = (store: Store, key: KeyRecord, nowAt: number): Result<Caller, Refusal> => {
  const { id: keyId, name, role, personId } = key;
  if (personId === null) return ok({ keyId, name, role });
  const person = store.people.find(personId);
  const present = personalRole(key, person, nowAt);
  if (!present.ok) return present;
  return ok({ keyId, personId, name: person === null ? name : personText(person), role: present.value });
};

/** Who holds a key or a session by this id, whether or not it may still call: whose a batch is. */
export const actorOf = (store: Store, keyId: string): Actor => {
  const key = store.keys.find(keyId);
  const personId = keyId.startsWith(PERSON_PREFIX) ? keyId : (key?.personId ?? null);
  const person = personId === null ? null : store.people.find(personId);
  const name = person === null ? (key?.name ?? "") : personText(person);
  return personId === null ? { keyId, name } : { keyId, personId, name };
};

const noteUse = (store: Store, { id, lastUsedAt }: KeyRecord, nowAt: number): void => {
  if (lastUsedAt !== null && nowAt - lastUsedAt < USE_NOTED_EVERY_MS) return;
  const key = store.keys.find(id);
  if (key !== null) store.keys.put({ ...key, lastUsedAt: nowAt });
};

const callerOfSession = (store: Store, { id, hash }: Credential, nowAt: number): Result<Caller, Refusal> => {
  const session = store.sessions.find(id);
  if (session === null) return callerOfPersonSession(store, { id, hash }, nowAt);
  if (session.hash !== hash || session.expiresAt <= nowAt) return err(AUTHENTICATION_FAILED);
  const caller = callerOfKey(store, session.keyId, session.keyHash, nowAt);
  return caller.ok ? caller : err(AUTHENTICATION_FAILED);
};

const callerOfPersonSession = (
  store: Store,
  { id, hash }: Pick<Credential, "id" | "hash">,
  nowAt: number,
): Result<Caller, Refusal> => {
  const session = store.personSessions.find(id);
  if (session === null || session.hash !== hash || session.expiresAt <= nowAt) return err(AUTHENTICATION_FAILED);
  const person = store.people.find(session.personId);
  return person === null || person.isBlocked ? err(AUTHENTICATION_FAILED) : ok(callerOfPerson(person));
};

const callerOfPerson = (person: Person): Caller => ({
  keyId: person.id,
  personId: person.id,
  name: personText(person),
  role: person.role,
});

/** Who sends on a socket, if whatever opened it is still valid: a key's secret, or a person's session. */
export const identifySocket = (
  store: Store,
  { keyId, openedWith, sessionId }: { keyId: string; openedWith: string; sessionId: string | null },
  nowAt: number,
): Result<Caller, Refusal> => {
  if (!keyId.startsWith(PERSON_PREFIX)) return callerOfKey(store, keyId, openedWith, nowAt);
  const session = sessionId === null ? null : store.personSessions.find(sessionId);
  if (session === null) return err(AUTHENTICATION_FAILED);
  return callerOfPersonSession(store, session, nowAt);
};

/** A session of a person, and not one of the person's keys. */
export const isPersonSession = ({ keyId }: Pick<Caller, "keyId">): boolean => keyId?.startsWith(PERSON_PREFIX) === true;
