// What `npm start` relies on: GET /health is 200 once the local worker can be given jobs.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { app } from "../../src/app.ts";
import { LONGEST_WAIT_MS } from "../../src/tenant/readiness.ts";
import { type Body, newWorld, type World } from "../support/workerd/client.ts";

const LOCAL = "local-worker";
let world: World;
let bindings: typeof env & { SERVICE_AWAITED_WORKER: string };

beforeEach(async () => {
  world = await newWorld();
  const { tenant } = await world.ok("GET", "/session");
  bindings = { ...env, SERVICE_AWAITED_WORKER: `${tenant}/${LOCAL}` };
});

afterEach(() => {
  vi.restoreAllMocks();
});

const health = async (): Promise<{ status: number; body: Body }> => {
  const answer = await app.request("/health", {}, bindings);
  return { status: answer.status, body: await answer.json() };
};

const send = (key: string | null, method: string, path: string, body?: unknown): Promise<Response> =>
  Promise.resolve(
    app.request(
      path,
      {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
      bindings,
    ),
  );

const presence = (instance: string, concurrency = 1): object => ({
  instance,
  provider: "echo",
  status: "idle",
  tags: "",
  concurrency,
});

const connect = async (instance: string): Promise<{ socket: WebSocket; isNoted: Promise<void> }> => {
  const context = createExecutionContext();
  const headers = { authorization: `Bearer ${world.key}`, upgrade: "websocket" };
  const answer = await app.request(`/api/workers/${instance}/connect`, { headers }, bindings, context);
  const socket = answer.webSocket;
  if (socket === null || socket === undefined) throw new Error(`no socket: ${answer.status}`);
  socket.accept();
  return { socket, isNoted: waitOnExecutionContext(context) };
};

describe("a service whose local worker is awaited", () => {
  it("is starting until that worker's presence was taken, and never again", async () => {
    const starting = await app.request("/health", {}, bindings);
    expect(starting.status).toBe(503);
    expect(starting.headers.get("retry-after")).toBe("1");
    expect(await starting.json()).toEqual({ status: "starting", version: expect.any(String) });

    expect((await send(world.key, "POST", "/presence", presence(LOCAL))).status).toBe(200);
    expect(await health()).toEqual({ status: 200, body: { status: "ok", version: expect.any(String) } });
    expect((await send(world.key, "POST", "/dispatch", { prompt: "hello" })).status).toBe(200);
    expect((await health()).status).toBe(200);
  });

  it("waits for no other worker, another tenant's of the same name included", async () => {
    const other = await newWorld();
    await send(world.key, "POST", "/presence", presence("another"));
    await send(other.key, "POST", "/presence", presence(LOCAL));
    expect((await send("not a key", "POST", "/presence", presence(LOCAL))).status).toBe(401);
    expect((await health()).status).toBe(503);
  });

  it("knows a worker that connects by what it says on its socket", async () => {
    const { socket, isNoted } = await connect(LOCAL);
    expect((await health()).status).toBe(503);
    socket.send(JSON.stringify({ type: "presence", id: "1", ...presence(LOCAL) }));
    await isNoted;
    expect((await health()).status).toBe(200);
    expect((await send(world.key, "POST", "/dispatch", { prompt: "hello" })).status).toBe(200);
    socket.close();
  });

  it("does not take a worker's last word before it stopped for its first", async () => {
    await world.ok("POST", "/presence", presence(LOCAL, 0));
    const { socket, isNoted } = await connect(LOCAL);
    expect((await health()).status).toBe(503);
    socket.send(JSON.stringify({ type: "presence", id: "1", ...presence(LOCAL) }));
    await isNoted;
    expect((await health()).status).toBe(200);
    socket.close();
  });

  it("waits no longer than its time for a worker that cannot start", async () => {
    const now = vi.spyOn(Date, "now");
    const startedAt = 1_700_000_000_000;
    now.mockReturnValue(startedAt);
    expect((await health()).status).toBe(503);
    now.mockReturnValue(startedAt + LONGEST_WAIT_MS - 1);
    expect((await health()).status).toBe(503);
    now.mockReturnValue(startedAt + LONGEST_WAIT_MS);
    expect((await health()).status).toBe(200);
    now.mockReturnValue(startedAt);
    expect((await health()).status).toBe(200);
  });
});
