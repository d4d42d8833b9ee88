// Which role a person has: rules over claims.

import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  claimOf,
  claimsWithin,
  emailOf,
  fits,
  LOOKED_AT,
  nameOf,
  type RoleRule,
  ruleFor,
  shownClaims,
} from "../../../domain/access/role-rules.ts";
import type { Json } from "../../../domain/words/json.ts";

const rule = (asked: Partial<RoleRule>): RoleRule => ({ claim: "groups", role: "viewer", ...asked });

describe("a rule", () => {
  test.each<[string, Partial<RoleRule>, Record<string, never> | object, boolean]>([
    ["has an entry of a list", { has: "a" }, { groups: ["b", "a"] }, true],
    ["has a text", { has: "a" }, { groups: "a" }, true],
    ["has no part of a text", { has: "a" }, { groups: "ab" }, false],
    ["equals a text", { claim: "hd", equals: "acme.com" }, { hd: "acme.com" }, true],
    ["equals a boolean, not its text", { claim: "staff", equals: true }, { staff: "true" }, false],
    ["equals no list", { equals: "a" }, { groups: ["a"] }, false],
    ["matches a pattern", { claim: "email", matches: "*@acme.com" }, { email: "ada@acme.com" }, true],
    ["matches to the end", { claim: "email", matches: "*@acme.com" }, { email: "ada@acme.com.evil.example" }, false],
    ["matches an address in any case", { claim: "email", matches: "*@acme.com" }, { email: "Ann@Acme.com" }, true],
    ["equals an address in any case", { claim: "email", equals: "Ann@Acme.com" }, { email: "ann@ACME.com" }, true],
    ["has an address in any case", { claim: "email", has: "ann@acme.com" }, { email: ["Ann@Acme.com"] }, true],
    ["takes no letter for another", { claim: "email", matches: "*@kiwi.nz" }, { email: "ann@\u212aiwi.nz" }, false],
    ["compares the case of other claims", { matches: "ml-*" }, { groups: ["ML-ops"] }, false],
    ["matches an entry", { matches: "ml-*" }, { groups: ["x", "ml-ops"] }, true],
    ["takes no missing claim", { matches: "*" }, {}, false],
    ["takes no null", { equals: "null" }, { groups: null }, false],
    ["finds a path", { claim: "realm_access.roles", has: "a" }, { realm_access: { roles: ["a"] } }, true],
    ["finds a name with dots first", { claim: "a.b", equals: "x" }, { "a.b": "x", a: { b: "y" } }, true],
    ["finds the name of an address", { claim: "https://acme.com/r", has: "a" }, { "https://acme.com/r": ["a"] }, true],
    ["reads no prototype", { claim: "constructor.name", equals: "Object" }, {}, false],
    ["reads no length", { claim: "groups.length", equals: 1 }, { groups: ["a"] }, false],
    ["takes an address whose proof is not mentioned", { claim: "email", equals: "a" }, { email: "a" }, true],
    ["takes no unverified address", { claim: "email", equals: "a" }, { email: "a", email_verified: false }, false],
    [
      "takes no unverified address in text",
      { claim: "email", equals: "a" },
      { email: "a", email_verified: "false" },
      false,
    ],
    ["takes a proof in text", { claim: "email", equals: "a" }, { email: "a", email_verified: "True" }, true],
    [
      "takes no other word for a proof",
      { claim: "email", equals: "a" },
      { email: "a", email_verified: "False" },
      false,
    ],
    ["takes no number for a proof", { claim: "email", equals: "a" }, { email: "a", email_verified: 0 }, false],
    ["is not about other claims' proof", { has: "a" }, { groups: ["a"], email_verified: false }, true],
  ])("%s", (_, asked, claims, expected) => {
    expect(fits(rule(asked), claims as never)).toBe(expected);
  });

  it("that is first decides, and none gives no role", () => {
    const rules = [rule({ has: "a", role: "admin" }), rule({ has: "b", role: "standard" })];
    expect(ruleFor(rules, { groups: ["b", "a"] })?.role).toBe("admin");
    expect(ruleFor(rules, { groups: ["b"] })?.role).toBe("standard");
    expect(ruleFor(rules, { groups: [] })).toBe(null);
    expect(ruleFor([], { groups: ["a"] })).toBe(null);
  });

  it("looks at a bounded part of a claim, however long a list is or a text", () => {
    const many = (count: number) => [...Array.from({ length: count }, () => "x"), "a"];
    expect(fits(rule({ has: "a" }), { groups: many(LOOKED_AT.entries - 1) })).toBe(true);
    expect(fits(rule({ has: "a" }), { groups: many(LOOKED_AT.entries) })).toBe(false);
    expect(fits(rule({ matches: "a*" }), { groups: many(LOOKED_AT.entries) })).toBe(false);
    expect(fits(rule({ matches: "a*" }), { groups: "a".repeat(LOOKED_AT.chars) })).toBe(true);
    expect(fits(rule({ matches: "a*" }), { groups: "a".repeat(LOOKED_AT.chars + 1) })).toBe(false);
    expect(fits(rule({ matches: "a*" }), { groups: ["x".repeat(LOOKED_AT.chars), "a"] })).toBe(false);
  });

  it("costs little, whatever the identity provider and the rules say", () => {
    const rules = Array.from({ length: 100 }, () => rule({ matches: `*${"a*".repeat(90)}b` }));
    const startedAt = performance.now();
    expect(ruleFor(rules, { groups: Array.from({ length: 90_000 }, () => "a") })).toBe(null);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  it("gives no role to claims that none of its kind names, whatever they are", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (claims) => {
        const has = rule({ claim: "a claim that nobody has", has: "x" });
        expect(ruleFor([has], claims as never)).toBe(null);
        expect(() => claimOf(claims as never, "a.b.c")).not.toThrow();
      }),
    );
  });
});

describe("what is told of a person", () => {
  it("has an address only if the provider does not deny it", () => {
    expect(emailOf({ email: "a@b.c" })).toBe("a@b.c");
    expect(emailOf({ email: "a@b.c", email_verified: false })).toBe(null);
    expect(emailOf({ email: 7 })).toBe(null);
  });

  it("has a name without what would forge an address or a line", () => {
    expect(nameOf({ name: "Ada\n<boss@acme.com>" }, "s")).toBe("Ada  boss@acme.com");
    expect(nameOf({ name: "\u202enimda\u2066 Ada" }, "s")).toBe("nimda  Ada");
    expect(emailOf({ email: "x> Root <root@acme.com" })).toBe("x  Root  root@acme.com");
    expect(nameOf({ name: " ", preferred_username: "ada" }, "s")).toBe("ada");
    expect(nameOf({}, "subject")).toBe("subject");
  });

  it("has no claim that is nested too deeply to be passed on", () => {
    const nested = (levels: number): Json => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    const claims = { groups: ["a"], deep: nested(50_000), "a b": { c: nested(60) } };
    expect(Object.keys(claimsWithin(claims, 64))).toEqual(["groups", "a b"]);
  });

  it("has the claims of rules, in bounds, and no others", () => {
    const claims = { groups: Array.from({ length: 500 }, (_, at) => `g${at}`), secret: "x", email: "e".repeat(999) };
    const told = shownClaims([rule({ has: "a" }), rule({ claim: "missing", has: "a" })], claims);
    expect(Object.keys(told).sort()).toEqual(["email", "email_verified", "groups", "missing", "name"]);
    expect((told.groups as string[]).length).toBe(100);
    expect((told.email as string).length).toBe(200);
  });

  it("is bounded in all, however many claims the rules name", () => {
    const list = Array.from({ length: 100 }, () => "x".repeat(200));
    const names = Array.from({ length: 97 }, (_, at) => `c${at}`);
    const claims = { name: "Ada", short: "s", ...Object.fromEntries(names.map((name) => [name, list])) };
    const told = shownClaims([...names.map((claim) => rule({ claim, has: "a" })), rule({ claim: "short" })], claims);
    expect(told).toMatchObject({ name: "Ada", c96: "(not shown: too long)", short: "s" });
    expect(JSON.stringify(told).length).toBeLessThan(24_000);
  });
});
