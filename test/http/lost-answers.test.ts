// An object that ends, or cuts a reader, before it has answered: the client hears a refusal, never a 500.

import { expect, it, vi } from "vitest";
import { processAway } from "../../self-host/edge/process-away.ts";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { mint } from "../../src/http/key-format.ts";

const SECRET = "a-signing-secret-for-tests";
const FOLLOWED = { id: "01a205f1-9c1e-7000-867f-4ef17d011abf", status: "running", stream: true, worker: "w", lease: 1 };

const readStream = async (fails: () => Error, relay?: Response, cut?: () => void): Promise<Response> => {
  const { token } = await mint(SECRET, "standard", "t", null);
  const env = {
    SERVICE_SIGNING_SECRET: SECRET,
    TENANT: { getByName: () => ({ callInGroup: async () => `+${JSON.stringify(FOLLOWED)}` }) },
    RELAY: { getByName: () => ({ fetch: async () => relay ?? Promise.reject(fails()) }) },
    HOME: {
      addressOf: () => "192.0.2.1",
      takeTurn: () => null,
      expectWrite: () => () => undefined,
      onAnswerEnd: () => undefined,
      disk: () => ({ state: "ok" }),
      cut,
    },
  } as unknown as Env;
  const headers = { authorization: `Bearer ${token}` };
  const context = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };
  return app.fetch(new Request(`http://service/api/jobs/${FOLLOWED.id}/stream`, { headers }), env, context);
};

it.each([
  ["ends its connection", () => processAway(new Error("socket hang up")), "tenant_unavailable"],
  [
    "is reset",
    () => Object.assign(new Error("its code was updated"), { durableObjectReset: true }),
    "tenant_unavailable",
  ],
  ["is overloaded", () => Object.assign(new Error("too many requests"), { overloaded: true }), "overloaded"],
])("a reader whose relay %s before its answer begins gets 503 with Retry-After", async (_, fails, code) => {
  const answer = await readStream(fails);
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, code]);
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
});

it("a reader whose relay cuts its stream later loses its connection, where the home can end that", async () => {
  const chunks = new TransformStream<Uint8Array, Uint8Array>();
  const cut = vi.fn<() => void>();
  const answer = await readStream(() => new Error("it answers"), new Response(chunks.readable), cut);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  expect(await read()).toContain("event: status");
  const writer = chunks.writable.getWriter();
  void writer.write(new TextEncoder().encode("event: chunk\n\n"));
  expect(await read()).toBe("event: chunk\n\n");
  expect(cut).not.toHaveBeenCalled();
  void writer.abort(new Error("it is slow"));
  await expect.poll(() => cut.mock.calls.length).toBe(1);
});

it("a defect stays one: 500, and the log has it", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
  expect((await readStream(() => new TypeError("a defect"))).status).toBe(500);
  logged.mockRestore();
});
