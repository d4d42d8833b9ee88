// A sign-in under way is a cookie of ten minutes, and its own time says so, too: a browser may keep a cookie for longer.

import { Hono } from "hono";
import { expect, it } from "vitest";
import type { AppContext } from "../../src/http/auth.ts";
import { type Flow, keepFlow, takeFlow } from "../../src/sign-in/flow.ts";

const ENV = { SERVICE_SIGNING_SECRET: "secret" };
const STATE = "s".repeat(43);
const MINUTE_MS = 60_000;
const FLOW: Omit<Flow, "begunAt"> = {
  state: STATE,
  redirectUri: "https://signalbox.example/auth/callback",
  nonce: "n",
  verifier: "v",
  tenant: "default",
  jurisdiction: null,
  issuer: "https://idp.example",
  clientId: "c",
  returnTo: "/",
  mode: "sign_in",
};

/** What comes back of a sign-in that was begun so long ago. */
const takenAfter = async (ms: number): Promise<Flow | null> => {
  const app = new Hono();
  app.get("/begin", async (c) => {
    await keepFlow(c as unknown as AppContext, { ...FLOW, begunAt: Date.now() - ms }, false);
    return c.body(null);
  });
  app.get("/end", async (c) => c.json(await takeFlow(c as unknown as AppContext, STATE, false)));
  const begun = await app.request("/begin", {}, ENV);
  const cookie = begun.headers.get("set-cookie")?.split(";")[0] ?? "";
  const ended = await app.request("/end", { headers: { cookie } }, ENV);
  return (await ended.json()) as Flow | null;
};

it("a sign-in is finished within ten minutes, or not at all", async () => {
  expect(await takenAfter(9 * MINUTE_MS)).toMatchObject({ state: STATE, tenant: "default" });
  expect(await takenAfter(10 * MINUTE_MS)).toBe(null);
  expect(await takenAfter(24 * 60 * MINUTE_MS)).toBe(null);
});
