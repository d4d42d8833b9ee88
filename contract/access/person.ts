// People on the wire: who signed in with the organisation's identity.

import * as z from "zod";
import type { Person } from "../../domain/access/person.ts";
import { PERSON_ROLES } from "../../domain/access/role-rules.ts";
import { idsOf } from "../../domain/words/event.ts";
import { identifier, instant, toIso } from "../words/field.ts";

export const personRole = z.enum(PERSON_ROLES);

export const personResource = z
  .object({
    id: z.string(),
    name: z.string(),
    email: z.string().nullable(),
    role: personRole.meta({ description: "as computed at the last sign-in; every session and key has it" }),
    issuer: z.string().meta({ description: "the identity provider" }),
    first_seen_at: instant,
    last_seen_at: instant,
    blocked: z.boolean(),
  })
  .meta({ id: "Person" });
export const personList = z.object({ people: z.array(personResource) }).meta({ id: "PersonList" });
export const personIdParam = z.object({ id: identifier(/^person_[A-Za-z0-9]+$/, 40, "person_, letters and digits") });

export type PersonList = z.infer<typeof personList>;
export type PersonResource = z.infer<typeof personResource>;

export const presentPerson = (person: Person): PersonResource => ({
  id: person.id,
  name: person.name,
  email: person.email,
  role: person.role,
  issuer: person.issuer,
  first_seen_at: toIso(person.firstSeenAt),
  last_seen_at: toIso(person.lastSeenAt),
  blocked: person.isBlocked,
});

/** The ids of an actor. */
export const presentIds = (by: Parameters<typeof idsOf>[0]): { key_id: string | null; person_id: string | null } => {
  const { keyId, personId } = idsOf(by);
  return { key_id: keyId, person_id: personId };
};

/** Who did something: a key, or a person and the key that it was done with. */
export const actor = z.object({
  key_id: z.string().nullable(),
  person_id: z.string().nullable().meta({ description: "the person whose session or key it was" }),
  name: z.string().meta({ description: "the key's name, or the person's with the address" }),
});
