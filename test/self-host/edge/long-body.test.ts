// A long body takes several steps, and others come between them.

import { Hono } from "hono";
import { expect, it } from "vitest";
import type { Env } from "../../../src/env.ts";
import { readDoorBody } from "../../../src/front-door/request/body.ts";
import type { Variables } from "../../../src/http/auth.ts";
import { readJson } from "../../../src/http/body.ts";

it("lets others go first between reading a long body and checking it, and reads a short one at once", async () => {
  const steps: string[] = [];
  const app = new Hono<{ Bindings: Env; Variables: Variables }>();
  app.post("/", async (c) => {
    const { text } = (await readJson(c)) as { text: string };
    steps.push(`checks ${text.length}`);
    return c.json({});
  });
  const HOME = { arrivedBody: () => null, othersFirst: async () => void steps.push("others") };
  for (const chars of [20_000, 20]) {
    const body = JSON.stringify({ text: "x".repeat(chars) });
    const headers = { "content-type": "application/json", "content-length": `${body.length}` };
    await app.request("/", { method: "POST", headers, body }, { HOME } as unknown as Env);
  }
  expect(steps).toEqual(["others", "checks 20000", "checks 20"]);
});

it("takes turns of its tenant for a very long body, to parse it and to check it", async () => {
  const steps: string[] = [];
  const app = new Hono<{ Bindings: Env; Variables: Variables }>();
  app.post("/", async (c) => {
    c.set("caller", { tenant: "acme" } as Variables["caller"]);
    await readJson(c);
    steps.push("checks");
    return c.json({});
  });
  const HOME = { arrivedBody: () => null, longStep: async (tenant: string) => void steps.push(`turn of ${tenant}`) };
  const body = JSON.stringify({ text: "x".repeat(300_000) });
  const headers = { "content-type": "application/json", "content-length": `${body.length}` };
  await app.request("/", { method: "POST", headers, body }, { HOME } as unknown as Env);
  expect(steps).toEqual(["turn of acme", "turn of acme", "checks"]);
});

it("reads one long body of a tenant's clients in a turn of the event loop, though many have arrived", async () => {
  const steps: string[] = [];
  const app = new Hono<{ Bindings: Env; Variables: Variables }>();
  app.post("/", async (c) => {
    await readDoorBody(c, "acme", async () => undefined);
    steps.push("read");
    return c.json({});
  });
  const HOME = { arrivedBody: () => null, longStep: async (tenant: string) => void steps.push(`turn of ${tenant}`) };
  for (const chars of [2_000_000, 500_000, 20_000, 20]) {
    const body = JSON.stringify({ text: "x".repeat(chars) });
    const headers = { "content-type": "application/json", "content-length": `${body.length}` };
    await app.request("/", { method: "POST", headers, body }, { HOME } as unknown as Env);
  }
  const turns = (count: number): string[] => Array(count).fill("turn of acme");
  // One for each 256 KiB of a body over 1 MiB, one to parse it, and one for what is made of a body of 256 KiB.
  const [outlined, parsed, made] = [turns(7), turns(1), turns(1)];
  expect(steps).toEqual([
    ...outlined,
    ...parsed,
    ...made,
    "read",
    ...parsed,
    ...made,
    "read",
    ...parsed,
    "read",
    "read",
  ]);
});
