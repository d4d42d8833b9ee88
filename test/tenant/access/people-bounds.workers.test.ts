// What people can make grow in a tenant: themselves, their sessions, their attempts and grants.

import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { NO_SIGN_IN } from "../../../contract/access/sign-in.ts";
import type { Arrival } from "../../../durable-objects/operations/access/sign-in.ts";
import { MAX_PEOPLE, MAX_SESSIONS_A_PERSON } from "../../../durable-objects/operations/access/sign-in.ts";
import { KEPT_ATTEMPTS } from "../../../durable-objects/store/access/people.ts";
import { useOwnTenant, world } from "../../support/workerd/own-tenant.ts";

useOwnTenant();

const DEPLOYMENT = { ...NO_SIGN_IN, roles: [{ claim: "team", equals: "ours", role: "viewer" as const }] };

const arrival = (subject: string, session: string): Arrival => ({
  issuer: "https://id.example",
  subject,
  claims: { team: "ours", name: subject },
  session: { id: session, hash: `hash of ${session}` },
  isTest: false,
  deployment: DEPLOYMENT,
});

const admit = (subject: string, session: string) =>
  runInDurableObject(world.stub, async (tenant) => {
    const admitted = await tenant.admit("admitPerson", arrival(subject, session));
    return admitted.ok ? admitted.value.outcome : admitted.error.code;
  });

const count = (table: string) =>
  runInDurableObject(world.stub, (_, { storage }) => storage.sql.exec(`SELECT COUNT(*) AS n FROM ${table}`).one().n);

describe("a tenant", () => {
  it("has 5 000 people and no more; those it has still sign in", async () => {
    expect(await admit("first", "s0")).toBe("signed_in");
    await runInDurableObject(world.stub, (_, { storage }) => {
      storage.sql.exec(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
         INSERT INTO people (id, issuer, subject, record) SELECT 'person_x' || i, 'x', i, '{}' FROM n`,
        MAX_PEOPLE - 1,
      );
    });
    expect(await admit("one too many", "s1")).toBe("full");
    expect(await admit("first", "s2")).toBe("signed_in");
    expect(await count("people")).toBe(MAX_PEOPLE);
  });

  it("keeps the last 50 attempts", async () => {
    for (let at = 0; at < KEPT_ATTEMPTS + 5; at += 1) await admit("somebody", `a${at}`);
    expect(await count("sign_in_attempts")).toBe(KEPT_ATTEMPTS);
  });
});

describe("a person", () => {
  it("has 20 sessions; one more ends another", async () => {
    for (let at = 0; at < MAX_SESSIONS_A_PERSON + 5; at += 1) await admit("ada", `s${at}`);
    expect(await count("person_sessions")).toBe(MAX_SESSIONS_A_PERSON);
  });

  it("failures that nobody is known for count as one within ten seconds", async () => {
    const fail = () => runInDurableObject(world.stub, (tenant) => tenant.admit("noteFailure", { detail: "x" }));
    for (let at = 0; at < 5; at += 1) await fail();
    expect(await count("sign_in_attempts")).toBe(1);
  });
});
