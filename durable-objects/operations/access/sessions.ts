// The dashboard's sessions: opened with a key here, by a person in `sign-in.ts`. Both are read and ended alike.

import { presentPerson } from "../../../contract/access/person.ts";
import type { SessionAnswer } from "../../../contract/access/session.ts";
import { toIso } from "../../../contract/words/field.ts";
import { AUTHENTICATION_FAILED } from "../../../domain/access/key.ts";
import { HOUR_MS } from "../../../domain/words/duration.ts";
import { idsOf } from "../../../domain/words/event.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import type { Turn } from "../../turn/turn.ts";

const SESSION_MS = 12 * HOUR_MS;
/** Signing in once more ends the oldest session of the key. */
export const MAX_SESSIONS_A_KEY = 100;

const KEYS_OFF =
  "signing in with a key is off: sign in with your organisation's identity. If nobody can, the operator makes an admin key with the root key (POST /admin/tenants/<tenant>/keys), and that key changes PUT /api/sign-in";

type Answer = Result<Omit<SessionAnswer, "tenant">, Refusal>;

/** `isOffHere`: the deployment's config lets nobody sign in with a key; a tenant's own config counts before it. */
export const createSession = (
  turn: Turn,
  request: { readonly id: string; readonly hash: string; readonly isOffHere: boolean },
): Answer => {
  const { keyId, secretHash } = turn.caller;
  if (keyId === null || secretHash === undefined) return err(AUTHENTICATION_FAILED);
  const own = turn.store.settings.signIn();
  if (own === null ? request.isOffHere : !own.keys_sign_in) return err({ code: "forbidden", detail: KEYS_OFF });
  const expiresAt = turn.nowAt + SESSION_MS;
  turn.store.sessions.put({ id: request.id, keyId, keyHash: secretHash, hash: request.hash, expiresAt });
  for (const id of turn.store.sessions.removeBeyond(keyId, MAX_SESSIONS_A_KEY)) turn.effects.endedSessions.add(id);
  turn.due(expiresAt);
  return ok(present(turn, expiresAt));
};

const present = ({ caller, store }: Turn, expiresAt: number | null): Omit<SessionAnswer, "tenant"> => {
  const { keyId, personId } = idsOf(caller);
  const person = personId === null ? null : store.people.find(personId);
  return {
    role: caller.role,
    name: person?.name ?? caller.name,
    key_id: keyId,
    person: person === null ? null : presentPerson(person),
    expires_at: expiresAt === null ? null : toIso(expiresAt),
  };
};

/** Who is signed in, and when the session ends; a bearer key has no end. */
export const readSession = (turn: Turn, { id }: { readonly id: string | null }): Answer => {
  const session = id === null ? null : (turn.store.sessions.find(id) ?? turn.store.personSessions.find(id));
  return ok(present(turn, session?.expiresAt ?? null));
};

export const endSession = (turn: Turn, request: { readonly id: string }): Result<null, Refusal> => {
  turn.store.sessions.remove(request.id);
  turn.store.personSessions.remove(request.id);
  turn.effects.endedSessions.add(request.id);
  return ok(null);
};
