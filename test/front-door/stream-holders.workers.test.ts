// Who reads beside the client, and who writes over HTTP, ends with the key that it came with, while others go on.

import { abortAllDurableObjects } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { closeCodes } from "../../contract/words/values.ts";
import { newWorld, ORIGIN, type World } from "../support/workerd/client.ts";
import { edgeFetch } from "../support/workerd/edge.ts";
import { fakeWorker, settled, streamed } from "../support/workerd/fake-worker.ts";

const piece = (text: string): string => `data: {"text":"${text}"}\n\n`;

const read = async (key: string | null, id: string, headers: Record<string, string> = {}) =>
  streamed(
    (await exports.default.fetch(`${ORIGIN}/api/jobs/${id}/stream`, {
      headers: { authorization: `Bearer ${key}`, ...headers },
    })) as unknown as Response,
  );

const streamedJob = async (world: World) => {
  await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1", stream: true });
};

/** A job whose stream has begun. */
const begunStream = async (world: World, said: string) => {
  const worker = await fakeWorker(world);
  await streamedJob(world);
  const job = await worker.nextJob();
  worker.start(job);
  worker.say(job, said);
  return { worker, job };
};

describe("a key that is revoked", () => {
  it("ends its readers of a stream that goes on, and no others", async () => {
    const world = await newWorld();
    const { worker, job } = await begunStream(world, piece("a"));
    const other = await world.withKey("standard");
    const [ended, goesOn] = [await read(other.key, job.id), await read(world.key, job.id)];
    for (const one of [ended, goesOn]) await one.until((text) => text.includes('"a"'));
    await world.delete(`/api/keys/${other.keyId}`);
    await expect(ended.whole).rejects.toThrow();
    worker.say(job, piece("b"));
    worker.end(job);
    worker.complete(job, "ab");
    expect(await goesOn.whole).toContain('"b"');
    expect(ended.text()).not.toContain('"b"');
  });

  it("ends its readers of a job that waits", async () => {
    const world = await newWorld();
    const made = await world.ok("POST", "/api/jobs", { prompt: "hello", model: "m1", stream: true });
    const other = await world.withKey("standard");
    const reader = await read(other.key, made.id);
    await reader.until((text) => text.includes("event: status"));
    await settled();
    await world.delete(`/api/keys/${other.keyId}`);
    await expect(reader.whole).rejects.toThrow();
  });

  it("ends a data line that arrives when its relay has heard of the end", async () => {
    const world = await newWorld();
    const { key, keyId } = await world.withKey("worker");
    const holder = {
      kind: "key",
      id: keyId,
      hash: createHash("sha256")
        .update(key ?? "")
        .digest("hex"),
    };
    const relay = env.RELAY.getByName(`${world.tenant}/late`);
    const open = async (instance: string): Promise<WebSocket> => {
      const opening = { instance, keyId, openedWith: holder.hash, jurisdiction: null, holder: JSON.stringify(holder) };
      const headers = { upgrade: "websocket", "x-signalbox-line": JSON.stringify(opening) };
      const { webSocket } = await relay.fetch("https://relay/line", { headers });
      if (webSocket === null) throw new Error("no data line");
      webSocket.accept();
      return webSocket;
    };
    const before = await open("before");
    await settled();
    expect(before.readyState).toBe(WebSocket.OPEN);
    await world.delete(`/api/keys/${keyId}`);
    const late = await open("late");
    const code = new Promise((resolve) => late.addEventListener("close", (closed) => resolve(closed.code)));
    expect(await code).toBe(closeCodes.keyEnded);
  });

  it("ends the body of events that its worker still sends over HTTP", async () => {
    const world = await newWorld();
    const { key, keyId } = await world.withKey("worker");
    const authorization = `Bearer ${key}`;
    const ask = (method: string, path: string, body?: unknown) =>
      edgeFetch(`${ORIGIN}${path}`, {
        method,
        headers: { authorization, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    await ask("POST", "/presence", { instance: "h1", provider: "local", models: ["m1"], status: "idle" });
    await streamedJob(world);
    const claimed = (await (await ask("POST", "/api/workers/h1/claim", {})).json()) as { jobs: { id: string }[] };
    const id = claimed.jobs[0]?.id ?? "";
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    writer.closed.catch(() => undefined);
    const say = (text: string) => writer.write(new TextEncoder().encode(piece(text))).catch(() => undefined);
    const sending = exports.default.fetch(`${ORIGIN}/api/jobs/${id}/stream?lease=1`, {
      method: "POST",
      headers: { authorization, "content-type": "text/event-stream" },
      body: readable,
    });
    void say("a");
    const reader = await read(world.key, id);
    await reader.until((text) => text.includes('"a"'));
    await world.delete(`/api/keys/${keyId}`);
    expect((await sending).status).toBe(401);
    void say("b");
    await settled(300);
    expect(reader.text()).not.toContain('"b"');
    await reader.cancel();
  });
});

describe("a stream whose relay is lost", () => {
  it("breaks off for its readers, who learn that what came is gone", async () => {
    const world = await newWorld();
    const { job } = await begunStream(world, piece("a") + piece("b"));
    const reader = await read(world.key, job.id);
    await reader.until((text) => text.includes('"b"'));
    await abortAllDurableObjects();
    await expect(reader.whole).rejects.toThrow();
    expect((await read(world.key, job.id, { "last-event-id": "1.2" })).status).toBe(410);
  });
});
