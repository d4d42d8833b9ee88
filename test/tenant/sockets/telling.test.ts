// What a tenant's sockets are sent, in which frames, and how many there are: with sockets that note what they are sent.

import { describe, expect, it } from "vitest";
import { ok } from "../../../domain/words/result.ts";
import type { TurnRunner } from "../../../durable-objects/calls/turn-runner.ts";
import { LineSockets } from "../../../durable-objects/sockets/line-sockets.ts";
import { Live } from "../../../durable-objects/sockets/live.ts";
import { SocketIntake } from "../../../durable-objects/sockets/socket-intake.ts";
import { Sockets } from "../../../durable-objects/sockets/sockets.ts";
import type { Attachment, TenantSocket } from "../../../durable-objects/sockets/tenant-socket.ts";
import type { Store } from "../../../durable-objects/store/open.ts";
import { noEffects } from "../../../durable-objects/turn/effects.ts";

const WORKERS = 1_700;

const attachmentOf = (instance: string): Attachment => ({
  kind: "worker",
  keyId: "key",
  name: "key",
  role: "worker",
  instance,
  connectedAt: 0,
  openedWith: "",
  sessionId: null,
  seq: 0,
});

function fleetOfSockets(log: string[]) {
  const accepted = Array.from({ length: WORKERS }, (_, index) => {
    const attachment = attachmentOf(`w${index}`);
    return { isOpen: true, attachment, send: () => log.push(attachment.instance) } as unknown as TenantSocket;
  });
  return { accepted, sockets: new Sockets([{ size: WORKERS, all: () => accepted }]) };
}

describe("a broadcast", () => {
  it("reaches every worker before what a worker says is handled, while other turns go on", async () => {
    const log: string[] = [];
    const { accepted, sockets } = fleetOfSockets(log);
    const run = async (): Promise<[]> => {
      log.push("a message is handled");
      return [];
    };
    const turns = { run } as unknown as TurnRunner;
    const intake = new SocketIntake({
      tenant: "t",
      database: () => ({}) as D1Database,
      store: {} as Store,
      sockets,
      live: {} as Live,
      turns,
    });
    sockets.queueForAll({ type: "worker.paused", reason: "killswitch" });
    setTimeout(() => log.push("another turn"), 0);
    await intake.hear(accepted[0] as TenantSocket, JSON.stringify({ type: "presence", instance: "w0" }));
    expect(log.filter((line) => line.startsWith("w"))).toHaveLength(WORKERS);
    expect(log.at(-1)).toBe("a message is handled");
    expect(log.indexOf("another turn")).toBeLessThan(WORKERS);
    expect(sockets.isTelling).toBe(false);
    await intake.hear(accepted[1] as TenantSocket, JSON.stringify({ type: "presence", instance: "w1" }));
    expect(log.filter((line) => line === "a message is handled")).toHaveLength(2);
  });
});

const socketOf = (attachment: Attachment, frames: string[] = []): TenantSocket =>
  ({ isOpen: true, attachment, send: (text: string) => frames.push(text) }) as unknown as TenantSocket;

describe("one socket", () => {
  /** The frames in which messages of these lengths go out, each with the lengths of its messages. */
  const framesOf = (lengths: readonly number[]): number[][] => {
    const frames: string[] = [];
    const socket = socketOf(attachmentOf("w"), frames);
    const sockets = new Sockets([{ size: 1, all: () => [socket] }]);
    const paused = (reason: string) => ({ type: "worker.paused", reason }) as const;
    const around = JSON.stringify(paused("")).length;
    for (const length of lengths) sockets.queue(socket, paused("x".repeat(length - around)));
    sockets.flush();
    return frames.map((frame) => [JSON.parse(frame)].flat().map((message) => JSON.stringify(message).length));
  };

  it("has its messages in one frame, or a few of a hundred thousand characters", () => {
    const half = 50_000;
    expect(framesOf([100, 200])).toEqual([[100, 200]]);
    expect(framesOf([half, half, half, half])).toEqual([
      [half, half],
      [half, half],
    ]);
    expect(framesOf([half, half + 1])).toEqual([[half], [half + 1]]);
    expect(framesOf([120_000, 100])).toEqual([[120_000], [100]]);
  });
});

describe("a tenant", () => {
  it("has 32,000 sockets at most, however they reach it", () => {
    const isFull = (...sizes: number[]) => new Sockets(sizes.map((size) => ({ size, all: () => [] }))).isFull;
    expect([isFull(20_000, 11_999), isFull(20_000, 12_000)]).toEqual([false, true]);
  });

  it("that is full opens no further socket: the platform would refuse it after the turn was stored", async () => {
    const hash = "of its secret";
    const facts = { id: "key", name: "key", role: "admin", personId: null, hash, previousHash: null, revokedAt: null };
    const key = { ...facts, lastUsedAt: Date.now() };
    const told: string[] = [];
    const openWith = (size: number) => {
      const parts = {
        tenant: "t",
        database: {},
        store: { keys: { find: () => key } },
        sockets: new Sockets([{ size, all: () => [] }]),
        live: {},
        turns: {
          memory: { absence: null },
          run: async (work: () => unknown) => work(),
          afterCommit: () => told.push("accepted"),
        },
      };
      const intake = new SocketIntake(parts as unknown as ConstructorParameters<typeof SocketIntake>[0]);
      return intake.open(socketOf(attachmentOf("")), { kind: "key", id: "key", hash }, null);
    };
    expect(await openWith(32_000)).toMatchObject({ ok: false, error: { code: "overloaded" } });
    expect(told).toEqual([]);
    expect(await openWith(31_999)).toEqual(ok(null));
    expect(told).toContain("accepted");
  });

  it("finds those on its lines by kind and key, until each has closed", () => {
    const table = new LineSockets();
    const [one, other] = [socketOf(attachmentOf("one")), socketOf({ ...attachmentOf("other"), keyId: "second" })];
    const viewer = socketOf({ ...attachmentOf(""), kind: "viewer" });
    for (const socket of [one, other, viewer]) table.add(socket, socket.attachment as Attachment);
    expect(table.size).toBe(3);
    expect(table.all()).toEqual([one, other, viewer]);
    expect([table.all("worker"), table.all("viewer")]).toEqual([[one, other], [viewer]]);
    expect(table.all("key:key")).toEqual([one, viewer]);
    table.delete(one);
    expect([table.size, table.all("worker"), table.all("key:key")]).toEqual([2, [other], [viewer]]);
    for (const socket of [other, viewer]) table.delete(socket);
    expect([table.size, table.all(), table.all("key:key")]).toEqual([0, [], []]);
  });
});

describe("a viewer", () => {
  it("begins with its snapshot, also if it comes while a frame for others is read", async () => {
    const viewerOf = (frames: string[]) =>
      ({ ...socketOf({ ...attachmentOf(""), kind: "viewer" }, frames), attach: () => undefined }) as TenantSocket;
    const [toFirst, toSecond]: [string[], string[]] = [[], []];
    const viewers = [viewerOf(toFirst)];
    const frame = Promise.withResolvers<unknown>();
    const snapshot = { snapshot: { type: "snapshot" }, updates: [], fleetSize: 0 };
    const reads = [frame.promise, Promise.resolve(snapshot)];
    const read = () => reads.shift() ?? Promise.reject(new Error("nothing more to read"));
    const live = new Live(
      new Sockets([{ size: 2, all: () => viewers }]),
      read as ConstructorParameters<typeof Live>[1],
    );
    const effects = noEffects();
    effects.forgottenWorkers.add("w");
    live.note(effects);
    await expect.poll(() => reads.length).toBe(1);
    const second = viewerOf(toSecond);
    viewers.push(second);
    live.welcome(second);
    frame.resolve({ snapshot: null, updates: [{ type: "worker.forgotten", instance: "w" }], fleetSize: 0 });
    await expect.poll(() => toSecond.length).toBeGreaterThan(0);
    expect(toFirst.map((text) => JSON.parse(text).type)).toEqual(["worker.forgotten"]);
    expect(toSecond.map((text) => JSON.parse(text).type)).toEqual(["snapshot"]);
  });
});
