// The people of a tenant: who they are, and ending what they hold. The identity provider decides the role; only the
// block is the tenant's own.

import { type PersonResource, presentPerson } from "../../../contract/access/person.ts";
import { keysEndAt, type Person } from "../../../domain/access/person.ts";
import { keyEnded, onlyReads } from "../../../domain/job/job-error.ts";
import { notFound, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { isUsable } from "../../turn/memory/usable-key.ts";
import type { Turn } from "../../turn/turn.ts";
import { lockOut, wakeClaims } from "../fleet/presence.ts";
import { endAsksOf } from "../halts/abandon.ts";

export const listPeople = (turn: Turn): Result<PersonResource[], Refusal> =>
  ok(turn.store.people.all().map(presentPerson));

type One = { readonly id: string };

const withPerson = <T>(turn: Turn, { id }: One, change: (person: Person) => T): Result<T, Refusal> => {
  const person = turn.store.people.find(id);
  return person === null ? err(notFound("person", id)) : ok(change(person));
};

const setBlocked = (turn: Turn, request: One, isBlocked: boolean): Result<PersonResource, Refusal> =>
  withPerson(turn, request, (person) => {
    if (person.isBlocked === isBlocked) return presentPerson(person);
    const next = { ...person, isBlocked };
    putPerson(turn, next);
    if (isBlocked) endSessionsOf(turn, next);
    const action = isBlocked ? "person.blocked" : "person.unblocked";
    turn.audit(action, person.id, { name: person.name, email: person.email });
    return presentPerson(next);
  });

/** Sessions, sockets and keys stop at once; the keys live again when the person is unblocked. */
export const block = (turn: Turn, request: One) => setBlocked(turn, request, true);

export const unblock = (turn: Turn, request: One) => setBlocked(turn, request, false);

export const endSessions = (turn: Turn, request: One): Result<null, Refusal> =>
  withPerson(turn, request, (person) => {
    endSessionsOf(turn, person);
    turn.audit("person.sessions_ended", person.id, { name: person.name, email: person.email });
    return null;
  });

export const endSessionsOf = (turn: Turn, person: Person): void => {
  for (const id of turn.store.personSessions.removeOf(person.id, 0)) turn.effects.endedSessions.add(id);
  turn.store.keyGrants.removeOf(person.id);
  suspend(turn, person.id);
};

/**
 * Stores a person, and ends what was opened with personal keys that may no longer be used. A viewer only reads: the
 * requests and the workers of who becomes one end, those of the person's sessions, too; what reads may be opened again.
 */
export const putPerson = (turn: Turn, person: Person): void => {
  const isViewerNow = person.role === "viewer" && turn.store.people.find(person.id)?.role !== "viewer";
  const keys = turn.store.keys.ofPerson(person.id).filter(({ revokedAt }) => revokedAt === null);
  const isTimed = keys.length > 0 && turn.nowAt < keysEndAt(person);
  turn.store.people.put(person, isTimed ? keysEndAt(person) : null);
  if (isTimed) turn.due(keysEndAt(person));
  const why = isViewerNow ? onlyReads : keyEnded;
  for (const key of keys) if (isViewerNow || !isUsable(turn.store, key, turn.nowAt)) suspend(turn, key.id, why);
  if (isViewerNow) suspend(turn, person.id, why);
};

/** Ends what a key or a person's sessions opened. The next request that is admitted lets their workers in again. */
const suspend = (turn: Turn, holderId: string, why = keyEnded): void => {
  turn.effects.endedKeys.set(holderId, []);
  lockOut(turn, holderId);
  wakeClaims(turn, holderId);
  endAsksOf(turn, holderId, [], why);
};

/** Personal keys whose person did not sign in again in time. */
export const suspendKeys = (turn: Turn): void => {
  for (const person of turn.store.people.withEndedKeys(turn.nowAt)) putPerson(turn, person);
  turn.due(turn.store.people.nextKeysEndAt());
};
