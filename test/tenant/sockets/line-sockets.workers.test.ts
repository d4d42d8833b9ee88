// Sockets whose frames go on the object's line, as the edge in Node sends them: when what they are told leaves the
// object, and what becomes of them and their workers when the line ends.

import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import {
  askedText,
  LINE_URL,
  NO_ANSWER,
  OPEN_SOCKET,
  readAnswered,
  SOCKETS,
  type SocketAsked,
} from "../../../durable-objects/sockets/object-line.ts";
import { readSocketGroup, type SocketGroup, SocketGroupWriter } from "../../../durable-objects/sockets/socket-group.ts";
import { read as readKey } from "../../../src/http/key-format.ts";
import { credentialOf } from "../../../src/tenant/tenant.ts";
import type { Body } from "../../support/workerd/client.ts";
import { create, read, world } from "../../support/workerd/own-tenant.ts";
import { dropped, key, offer, useSocketWorkers, view } from "../../support/workerd/socket-worker.ts";

const SIGNING_SECRET = "signing-secret-of-the-tests";

useSocketWorkers();

class Line {
  readonly #socket: WebSocket;
  readonly answers = new Map<number, Body>();
  readonly groups: SocketGroup[] = [];
  readonly ended: Promise<void>;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.accept();
    socket.addEventListener("message", ({ data }) => {
      const { number, text } = readAnswered(String(data));
      if (number === NO_ANSWER) this.groups.push(readSocketGroup(text));
      else this.answers.set(number, JSON.parse(text));
    });
    this.ended = new Promise((resolve) => socket.addEventListener("close", () => resolve()));
  }

  static async open(): Promise<Line> {
    const { webSocket } = await world.stub.fetch(LINE_URL, { headers: { upgrade: "websocket" } });
    if (webSocket === null) throw new Error("the object opens no line");
    return new Line(webSocket);
  }

  /** Opens the worker's socket under this number; returns the answer. */
  async connect(number: number, instance: string): Promise<Body> {
    const facts = await readKey(SIGNING_SECRET, key);
    if (facts === null) throw new Error("the key is not one of this service's");
    const asked: SocketAsked = [number, credentialOf(facts), instance];
    this.#socket.send(askedText({ number, method: OPEN_SOCKET, text: JSON.stringify(asked) }));
    await expect.poll(() => this.answers.get(number)).toBeDefined();
    return this.answers.get(number);
  }

  /** Connects workers, by their sockets' numbers, and reports their presence. */
  async connectWorkers(instances: readonly string[], more: Record<string, unknown> = {}): Promise<void> {
    for (const [index, instance] of instances.entries()) {
      expect(await this.connect(index + 1, instance)).toEqual({ value: { ok: true, value: null } });
    }
    this.say((group) => {
      for (const [index, instance] of instances.entries())
        group.add(index + 1, JSON.stringify({ type: "presence", id: "hello", ...offer(instance, more) }));
    });
    for (const index of instances.keys()) await this.hears(index + 1, '"ack"');
  }

  say(write: (group: SocketGroupWriter) => void): void {
    const group = new SocketGroupWriter();
    write(group);
    this.#socket.send(askedText({ number: NO_ANSWER, method: SOCKETS, text: group.take().text }));
  }

  /** What a socket has been told so far. */
  told(socket: number): string[] {
    return this.groups.flatMap(({ texts }) =>
      texts.flatMap(({ text, sockets }) => (sockets.includes(socket) && text !== null ? [text] : [])),
    );
  }

  hears(socket: number, part: string): Promise<void> {
    return expect.poll(() => this.told(socket).join()).toContain(part) as unknown as Promise<void>;
  }

  is(socket: WebSocket): boolean {
    return socket === this.#socket;
  }

  close(): void {
    this.#socket.close();
  }
}

it("a broadcast is one message with one text for all sockets", async () => {
  const line = await Line.open();
  await line.connectWorkers(["a", "b", "c"]);
  const before = line.groups.length;
  await world.ok("POST", "/killswitch", { level: 1, reason: "drill" });
  await line.hears(3, '"killswitch","killswitch":{"level":1');
  const texts = line.groups.slice(before).flatMap((group) => group.texts);
  expect(texts.map(({ sockets }) => sockets)).toEqual([[1, 2, 3]]);
});

it("many large jobs go in several messages, none of them much longer than a worker's frame", async () => {
  const line = await Line.open();
  await line.connectWorkers(["a"], { concurrency: 100 });
  await world.ok("POST", "/api/workers/a/pause");
  const prompt = "x".repeat(190_000);
  const jobs = await Promise.all(Array.from({ length: 30 }, () => create({ prompt })));
  await world.ok("POST", "/api/workers/a/resume");
  for (const { id } of jobs) await line.hears(1, id);
  const lengths = line.groups.map(({ texts }) => texts.reduce((sum, { text }) => sum + (text?.length ?? 0), 0));
  expect(Math.max(...lengths)).toBeLessThan(2_500_000);
});

it("a worker is told of its job before the killswitch that follows", async () => {
  const line = await Line.open();
  await line.connectWorkers(["a"]);
  const { id } = await create();
  await world.ok("POST", "/killswitch", { level: 1, reason: "drill" });
  await line.hears(1, '"level":1');
  const told = line.told(1).join("\n");
  expect(told.indexOf(id)).toBeGreaterThan(-1);
  expect(told.indexOf(id)).toBeLessThan(told.indexOf('"level":1'));
});

it("what a socket is told leaves the object only once it is stored", async () => {
  const line = await Line.open();
  await line.connectWorkers(["a"]);
  const { id } = await create();
  await line.hears(1, id);

  const sent: string[] = [];
  const sending = WebSocket.prototype.send;
  await runInDurableObject(world.stub, (_tenant, state) => {
    WebSocket.prototype.send = function (text) {
      sending.call(this, text);
      if (line.is(this) || !String(text).includes('"done"')) return;
      sent.push(String(text));
      state.abort("ended before the commit");
    };
  });
  try {
    line.say((group) =>
      group.add(1, JSON.stringify({ type: "job.completed", id: "done", job_id: id, lease: 1, result: 1 })),
    );
    await line.ended;
  } finally {
    WebSocket.prototype.send = sending;
  }
  expect(sent).toHaveLength(1);
  expect(line.told(1).join()).not.toContain('"done"');
  expect((await read(id)).status).toBe("assigned");
});

it("the line's end ends its sockets: their workers keep their leases until they are back", async () => {
  const line = await Line.open();
  await line.connectWorkers(["a"]);
  const { id } = await create();
  await line.hears(1, id);
  expect((await view("a")).connected).toBe(true);
  line.close();
  await dropped("a");
  expect(await read(id)).toMatchObject({ status: "assigned", assigned_worker: "a", lease: 1 });
  const next = await Line.open();
  await next.connect(1, "a");
  await next.hears(1, id);
  expect((await view("a")).connected).toBe(true);
});

it("the end of an older line does not end a worker's socket on the next one", async () => {
  const [older, newer] = [await Line.open(), await Line.open()];
  await older.connectWorkers(["a"]);
  await newer.connectWorkers(["a"]);
  await expect.poll(() => older.groups.flatMap(({ closes }) => closes)).toMatchObject([{ socket: 1, code: 4409 }]);
  older.close();
  await create();
  await newer.hears(1, "job.assigned");
  expect((await view("a")).connected).toBe(true);
});

it("pings on it are a worker's signs of life", async () => {
  const line = await Line.open();
  await line.connectWorkers(["a", "b"]);
  await world.ok("PUT", "/config", { presence: { offline_after_seconds: 10 } });
  const statuses = async () => [(await view("a")).status, (await view("b")).status];
  const long = 60_000;
  const now = Date.now;
  await runInDurableObject(world.stub, () => {
    Date.now = () => now() + long;
  });
  try {
    line.say((group) => group.add(1, "ping"));
    await expect.poll(statuses).toEqual(["idle", "offline"]);
  } finally {
    Date.now = now;
  }
});

it("a refused socket does not exist", async () => {
  const line = await Line.open();
  await world.ok("DELETE", `/api/keys/${(await readKey(SIGNING_SECRET, key))?.id}`);
  expect(await line.connect(2, "w")).toMatchObject({ value: { ok: false } });
  line.say((group) => group.add(2, "nobody hears it"));
  line.say((group) => group.close({ socket: 2, code: 1006, reason: "" }));
  expect((await world.ok("GET", "/api/jobs")).total).toBe(0);
});
