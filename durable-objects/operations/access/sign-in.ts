// How people sign in: the tenant's config, and what the edge asks before anyone has a session. The edge checks what the
// identity provider signed; the rules are applied here, in the turn that makes the session.

import { type PersonResource, presentPerson } from "../../../contract/access/person.ts";
import {
  type Attempt,
  type AttemptOutcome,
  type AttemptResource,
  type SignInDocument,
  type SignInRequest,
  toSignInDocument,
} from "../../../contract/access/sign-in.ts";
import { toIso } from "../../../contract/words/field.ts";
import { type Person, personText, seePerson, sessionEndAt } from "../../../domain/access/person.ts";
import {
  type Claims,
  emailOf,
  nameOf,
  type RoleRule,
  ruleFor,
  shownClaims,
} from "../../../domain/access/role-rules.ts";
import { SECOND_MS } from "../../../domain/words/duration.ts";
import { PERSON_PREFIX } from "../../../domain/words/event.ts";
import type { Json } from "../../../domain/words/json.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import type { Turn } from "../../turn/turn.ts";
import { endSessionsOf, putPerson } from "./people.ts";

export const MAX_PEOPLE = 5_000;
export const MAX_SESSIONS_A_PERSON = 20;
/** Failures before a person is known are anybody's: those within this time count as one. */
const FAILURES_JOINED_MS = 10 * SECOND_MS;

/** The tenant's own config; null if the deployment's counts. */
export const readSignIn = (turn: Turn): Result<{ document: SignInDocument | null }, Refusal> =>
  ok({ document: turn.store.settings.signIn() });

export const putSignIn = (turn: Turn, request: SignInRequest): Result<{ document: SignInDocument }, Refusal> => {
  const document = toSignInDocument(request, turn.store.settings.signIn());
  turn.store.settings.putSignIn(document);
  for (const person of turn.store.people.all()) {
    if (person.keysValidDays !== document.keys_valid_days)
      putPerson(turn, { ...person, keysValidDays: document.keys_valid_days });
  }
  const { oidc, jwt_header, roles, ...rest } = document;
  const ways = { oidc: oidc?.issuer ?? null, jwt_header: jwt_header?.issuer ?? null };
  turn.audit("sign_in.changed", "sign_in", { ...rest, ...ways, roles: roles as unknown as Json });
  return ok({ document });
};

export const listAttempts = (turn: Turn): Result<AttemptResource[], Refusal> =>
  ok(
    turn.store.attempts.all().map(({ at, outcome, rule, claims, personId, detail }) => ({
      at: toIso(at),
      outcome,
      rule,
      claims: { ...claims },
      person_id: personId,
      detail,
    })),
  );

/** A person that the identity provider has named. */
export interface Arrival {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Claims;
  /** The session to open. */
  readonly session: { readonly id: string; readonly hash: string };
  /** Says what would happen, and opens no session. */
  readonly isTest: boolean;
  /** The deployment's config, for a tenant without its own. */
  readonly deployment: SignInDocument | null;
}

export interface Admission {
  readonly outcome: AttemptOutcome;
  readonly rule: RoleRule | null;
  readonly claims: Claims;
  readonly rules: readonly RoleRule[];
  readonly person: PersonResource | null;
  /** Epoch ms. */
  readonly expiresAt: number | null;
}

/** Computes the role, and opens a session unless there is none. */
export const admitPerson = (turn: Turn, arrival: Arrival): Result<Admission, Refusal> => {
  const { issuer, subject, claims } = arrival;
  const document = turn.store.settings.signIn() ?? arrival.deployment;
  const rules = document?.roles ?? [];
  const rule = ruleFor(rules, claims);
  const known = turn.store.people.findSubject(issuer, subject);
  const told = { rule, rules, claims: shownClaims(rules, claims) };
  const end = (outcome: AttemptOutcome, personId: string | null = known?.id ?? null): void =>
    note(turn, { outcome, rule, claims: told.claims, personId, detail: null });
  const refuse = (outcome: AttemptOutcome): Result<Admission, Refusal> => {
    end(outcome);
    return ok({ ...told, outcome, person: known === null ? null : presentPerson(known), expiresAt: null });
  };
  if (document === null || rule === null) {
    if (known !== null && !arrival.isTest) endFormer(turn, known.id);
    return refuse("refused");
  }
  if (known?.isBlocked) return refuse("blocked");
  if (arrival.isTest) return refuse("tested");
  if (known === null && turn.store.people.count() >= MAX_PEOPLE) return refuse("full");
  const person = receive(turn, arrival, known, rule, document);
  const expiresAt = openSession(turn, arrival, person, document);
  end("signed_in", person.id);
  return ok({ ...told, outcome: "signed_in", person: presentPerson(person), expiresAt });
};

/** Stores the person as the identity provider has named them, with the role of the rule. */
const receive = (
  turn: Turn,
  { issuer, subject, claims }: Arrival,
  known: Person | null,
  { role }: RoleRule,
  document: SignInDocument,
): Person => {
  const named = { name: nameOf(claims, subject), email: emailOf(claims) };
  const seen = { issuer, subject, ...named, role, keysValidDays: document.keys_valid_days };
  const person = seePerson(known, seen, `${PERSON_PREFIX}${turn.newId().replaceAll(/[^A-Za-z0-9]/g, "")}`, turn.nowAt);
  putPerson(turn, person);
  auditArrival(turn, person, known?.role ?? null);
  return person;
};

/** Returns when it expires. Beyond the bound the person's oldest session ends. */
const openSession = (turn: Turn, { session }: Arrival, { id: personId }: Person, document: SignInDocument): number => {
  const { personSessions } = turn.store;
  const expiresAt = sessionEndAt(turn.nowAt, document.renew_seconds);
  personSessions.put({ ...session, personId, expiresAt });
  for (const id of personSessions.removeOf(personId, MAX_SESSIONS_A_PERSON)) turn.effects.endedSessions.add(id);
  turn.due(expiresAt);
  return expiresAt;
};

/** Who no longer has a role keeps no session and no key. */
const endFormer = (turn: Turn, id: string): void => {
  const person = turn.store.people.find(id);
  if (person === null) return;
  endSessionsOf(turn, person);
  putPerson(turn, { ...person, roleAt: 0 });
};

const auditArrival = (turn: Turn, person: Person, roleBefore: string | null): void => {
  const by = { keyId: person.id, personId: person.id, name: personText(person) };
  const { id, role } = person;
  if (roleBefore === null) turn.audit("person.joined", id, { role }, by);
  else if (roleBefore !== role) turn.audit("person.role_changed", id, { from: roleBefore, role }, by);
};

const note = (turn: Turn, attempt: Omit<Attempt, "at">): void =>
  turn.store.attempts.add({ ...attempt, at: turn.nowAt });

/** A sign-in that the identity provider or the network refused. */
export const noteFailure = (turn: Turn, { detail }: { readonly detail: string }): Result<null, Refusal> => {
  const last = turn.store.attempts.newest();
  const isJoined = last?.outcome === "failed" && turn.nowAt - last.at < FAILURES_JOINED_MS && turn.nowAt >= last.at;
  if (!isJoined) note(turn, { outcome: "failed", rule: null, claims: {}, personId: null, detail });
  return ok(null);
};
