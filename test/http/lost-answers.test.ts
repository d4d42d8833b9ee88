// An object that ends, or cuts a reader, before it has answered: the client hears a refusal, never a 500.

import { expect, it, vi } from "vitest";
import { processAway } from "../../self-host/edge/process-away.ts";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { mint } from "../../src/http/key-format.ts";

const SECRET = "a-signing-secret-for-tests";
const FOLLOWED = { id: "01a205f1-9c1e-7000-867f-4ef17d011abf", status: "running", stream: true, worker: "w", lease: 1 };

const readStream = async (fails: () => Error): Promise<Response> => {
  const { token } = await mint(SECRET, "standard", "t", null);
  const env = {
    SERVICE_SIGNING_SECRET: SECRET,
    TENANT: { getByName: () => ({ callInGroup: async () => `+${JSON.stringify(FOLLOWED)}` }) },
    RELAY: { getByName: () => ({ fetch: () => Promise.reject(fails()) }) },
    HOME: {
      addressOf: () => "192.0.2.1",
      takeTurn: () => null,
      expectWrite: () => () => undefined,
      onAnswerEnd: () => undefined,
      disk: () => ({ state: "ok" }),
    },
  } as unknown as Env;
  const headers = { authorization: `Bearer ${token}` };
  return app.fetch(new Request(`http://service/api/jobs/${FOLLOWED.id}/stream`, { headers }), env);
};

it.each([
  ["ends its connection", () => processAway(new Error("socket hang up")), "tenant_unavailable"],
  ["is overloaded", () => Object.assign(new Error("too many requests"), { overloaded: true }), "overloaded"],
])("a reader whose relay %s before its answer begins gets 503 with Retry-After", async (_, fails, code) => {
  const answer = await readStream(fails);
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, code]);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
});

it("a defect stays one: 500, and the log has it", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  expect((await readStream(() => new TypeError("a defect"))).status).toBe(500);
  logged.mockRestore();
});
