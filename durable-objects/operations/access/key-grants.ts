// A personal key for a program on the person's machine (`signalbox login`): the person agrees in the dashboard, and the
// program fetches the key with a one-time code and what only it knows (PKCE, RFC 7636).

import type { KeyResource } from "../../../contract/access/key.ts";
import { isSameDigest } from "../../../domain/access/key.ts";
import { personText } from "../../../domain/access/person.ts";
import type { PersonRole } from "../../../domain/access/role-rules.ts";
import { MINUTE_MS } from "../../../domain/words/duration.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { isPersonSession } from "../../steps/holders.ts";
import type { Turn } from "../../turn/turn.ts";
import { addPersonalKey } from "./keys.ts";

const GRANT_MS = MINUTE_MS;

const ONLY_PEOPLE =
  "a program gets a key of a person: sign in with your organisation's identity, or give `signalbox login` a key";

/** A person has one grant at a time: a second consent ends the first. */
export const grantKey = (
  turn: Turn,
  request: { readonly id: string; readonly challenge: string; readonly name: string },
): Result<{ readonly role: PersonRole }, Refusal> => {
  const person = isPersonSession(turn.caller) ? turn.store.people.find(turn.caller.personId ?? "") : null;
  if (person === null) return err({ code: "forbidden", detail: ONLY_PEOPLE });
  const expiresAt = turn.nowAt + GRANT_MS;
  turn.store.keyGrants.removeOf(person.id);
  turn.store.keyGrants.put({ ...request, personId: person.id, expiresAt });
  turn.due(expiresAt);
  return ok({ role: person.role });
};

interface Redemption {
  readonly grantId: string;
  /** SHA-256 of the program's secret, as the program sent it before. */
  readonly challenge: string;
  readonly key: { readonly id: string; readonly hash: string; readonly role: PersonRole };
}

/** Null if there is no such grant. It is used up, also by a wrong secret: nobody tries a second one. */
export const redeemKey = (turn: Turn, { grantId, challenge, key }: Redemption): Result<KeyResource | null, Refusal> => {
  const grant = turn.store.keyGrants.take(grantId);
  const person = grant === null ? null : turn.store.people.find(grant.personId);
  const isGood = grant !== null && grant.expiresAt > turn.nowAt && isSameDigest(grant.challenge, challenge);
  if (!isGood || person === null || person.isBlocked) return ok(null);
  const by = { keyId: person.id, personId: person.id, name: personText(person) };
  return addPersonalKey(turn, person, { ...key, name: grant.name, limits: null }, by);
};
