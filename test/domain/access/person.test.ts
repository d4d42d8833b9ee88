// A person: the role at each sign-in, and what personal keys may do with it.

import { describe, expect, it, test } from "vitest";
import type { KeyRecord, Role } from "../../../domain/access/key.ts";
import { mayMakeKey, type Person, personalRole, personText, seePerson } from "../../../domain/access/person.ts";
import { PERSON_ROLES, type PersonRole } from "../../../domain/access/role-rules.ts";
import { DAY_MS } from "../../../domain/words/duration.ts";
import { NOON } from "../job/sample-jobs.ts";

const seen = (role: PersonRole) => ({
  issuer: "https://id.example",
  subject: "s",
  name: "Ada",
  email: "ada@acme.com",
  role,
  keysValidDays: 30,
});
const person = (role: PersonRole, more: Partial<Person> = {}): Person => ({
  ...seePerson(null, seen(role), "person_1", NOON),
  ...more,
});
const key = (role: Role): KeyRecord => ({
  id: "k",
  name: "laptop",
  role,
  hash: "h",
  createdAt: NOON,
  lastUsedAt: null,
  revokedAt: null,
  previousHash: null,
  previousUntilAt: null,
  limits: null,
  weight: 1,
  personId: "person_1",
});

describe("a personal key", () => {
  test.each<[Role, PersonRole, Role | null]>([
    ["admin", "admin", "admin"],
    ["admin", "standard", "standard"],
    ["admin", "viewer", "viewer"],
    ["standard", "viewer", "viewer"],
    ["standard", "admin", "standard"],
    ["viewer", "admin", "viewer"],
    ["client", "standard", "client"],
    ["client", "viewer", null],
    ["worker", "admin", "worker"],
    ["worker", "standard", null],
  ])("with role %s acts for a person with role %s as %s", (keyRole, role, expected) => {
    const present = personalRole(key(keyRole), person(role), NOON);
    expect(present.ok ? present.value : null).toBe(expected);
  });

  it("is suspended while its person is blocked, gone, or was not seen in time", () => {
    const codeAt = (who: Person | null, at: number): string | null => {
      const present = personalRole(key("viewer"), who, at);
      return present.ok ? null : present.error.code;
    };
    expect(codeAt(person("viewer", { isBlocked: true }), NOON)).toBe("key_suspended");
    expect(codeAt(null, NOON)).toBe("key_suspended");
    expect(codeAt(person("viewer"), NOON + 30 * DAY_MS - 1)).toBe(null);
    expect(codeAt(person("viewer"), NOON + 30 * DAY_MS)).toBe("key_suspended");
  });

  it("says why it is suspended: also a person whom no rule fitted has signed in", () => {
    const present = personalRole(key("viewer"), person("viewer", { roleAt: 0 }), NOON);
    const detail = "Ada has no role any more: ask an administrator of this tenant";
    expect(present).toMatchObject({ ok: false, error: { code: "key_suspended", detail } });
  });

  it("never gets more than its person may have", () => {
    const may = (role: PersonRole, asked: Role): boolean => mayMakeKey(role, asked).ok;
    expect(PERSON_ROLES.filter((role) => may(role, "admin"))).toEqual(["admin"]);
    expect(PERSON_ROLES.filter((role) => may(role, "client"))).toEqual(["admin", "standard"]);
    expect(PERSON_ROLES.filter((role) => may(role, "viewer"))).toEqual(["admin", "standard", "viewer"]);
  });
});

describe("a person who comes again", () => {
  it("stays the same person, with the new role, and blocked if blocked", () => {
    const before = person("admin", { isBlocked: true });
    const after = seePerson(before, { ...seen("viewer"), name: "Ada L." }, "person_2", NOON + 1);
    expect(after).toMatchObject({ id: "person_1", role: "viewer", name: "Ada L.", isBlocked: true });
    expect([after.firstSeenAt, after.lastSeenAt, after.roleAt]).toEqual([NOON, NOON + 1, NOON + 1]);
  });

  it("is named with the address", () => {
    expect(personText({ name: "Ada", email: "ada@acme.com" })).toBe("Ada <ada@acme.com>");
    expect(personText({ name: "Ada", email: null })).toBe("Ada");
  });
});
