// A person who signs in with the organisation's identity: a holder of sessions and of personal keys. The role comes from
// the identity provider at each sign-in and is the person's: every session and key has it at once. Invariant: a role
// that was not computed again in time opens nothing.

import { DAY_MS, SECOND_MS } from "../words/duration.ts";
import type { Refusal } from "../words/refusal.ts";
import { err, ok, type Result } from "../words/result.ts";
import type { KeyRecord, Role } from "./key.ts";
import type { PersonRole } from "./role-rules.ts";

export interface Person {
  /** `person_…`: never the id of a key. */
  readonly id: string;
  readonly issuer: string;
  /** The provider's own name of the person: with the issuer it never names another. */
  readonly subject: string;
  readonly name: string;
  /** Null if the provider gives none, or has not verified it. */
  readonly email: string | null;
  readonly role: PersonRole;
  /** When the role was last computed; 0 if no rule fitted then. */
  readonly roleAt: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
  readonly isBlocked: boolean;
  /** How long personal keys live after the role was computed, as of then. */
  readonly keysValidDays: number;
}

/** As the audit, jobs and pauses name the person. */
export const personText = ({ name, email }: Pick<Person, "name" | "email">): string =>
  email === null || email === name ? name : `${name} <${email}>`;

/** What the provider said of a person who has a role. */
interface SeenPerson {
  readonly issuer: string;
  readonly subject: string;
  readonly name: string;
  readonly email: string | null;
  readonly role: PersonRole;
  readonly keysValidDays: number;
}

export const seePerson = (known: Person | null, seen: SeenPerson, newId: string, nowAt: number): Person => ({
  ...seen,
  id: known?.id ?? newId,
  firstSeenAt: known?.firstSeenAt ?? nowAt,
  lastSeenAt: nowAt,
  roleAt: nowAt,
  isBlocked: known?.isBlocked ?? false,
});

/** A session lasts until the role must be computed again. */
export const sessionEndAt = (nowAt: number, renewSeconds: number): number => nowAt + renewSeconds * SECOND_MS;

/** The roles of the keys that a person with a role may make. */
const KEY_ROLES = {
  admin: ["admin", "standard", "viewer", "client", "worker"],
  standard: ["standard", "viewer", "client"],
  viewer: ["viewer"],
} as const satisfies Record<PersonRole, readonly Role[]>;

export const mayMakeKey = (role: PersonRole, asked: Role): Result<null, Refusal> => {
  const may: readonly Role[] = KEY_ROLES[role];
  if (may.includes(asked)) return ok(null);
  return err({ code: "forbidden", detail: `your role is ${role}: you may make keys with role ${may.join(" or ")}` });
};

/** A personal key's role now: at most that of its person. Null if the person may no longer have such a key. */
const presentKeyRole = (keyRole: Role, personRole: PersonRole): Role | null => {
  const may: readonly Role[] = KEY_ROLES[personRole];
  if (may.includes(keyRole)) return keyRole;
  const isOfPeople = keyRole === "admin" || keyRole === "standard";
  return isOfPeople ? personRole : null;
};

/** When the keys of a person are suspended unless the role is computed again. */
export const keysEndAt = ({ roleAt, keysValidDays }: Person): number => roleAt + keysValidDays * DAY_MS;

const suspended = (detail: string): Refusal => ({ code: "key_suspended", detail });

/** The role with which a personal key acts. */
export const personalRole = (key: KeyRecord, person: Person | null, nowAt: number): Result<Role, Refusal> => {
  if (person === null) return err(suspended("the person of this key is gone"));
  if (person.isBlocked || person.roleAt === 0) {
    const why = person.isBlocked ? "is blocked" : "has no role any more";
    return err(suspended(`${person.name} ${why}: ask an administrator of this tenant`));
  }
  if (nowAt >= keysEndAt(person))
    return err(
      suspended(`${person.name} has not signed in for ${person.keysValidDays} days: sign in to the dashboard`),
    );
  const role = presentKeyRole(key.role, person.role);
  return role === null
    ? err(suspended(`${person.name} now has role ${person.role}, which has no ${key.role} keys`))
    : ok(role);
};
