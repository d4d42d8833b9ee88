// New connections beside those that are open.

import { EventEmitter, once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as nextRound } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { beginFewAtOnce, HEARD_AT_ONCE } from "../../../self-host/edge/turns/arrivals.ts";

const world = () => {
  const begun: Socket[] = [];
  const server = new EventEmitter().on("connection", (socket: Socket) => begun.push(socket)) as unknown as Server;
  beginFewAtOnce(server, 3);
  const arrive = () => {
    const resumed = vi.fn();
    const socket = Object.assign(new EventEmitter(), { destroyed: false, resume: resumed, resumed, pause: vi.fn() });
    server.emit("connection", socket as unknown as Socket);
    return socket;
  };
  return { begun, arrive, server };
};

it("a thousand connections that arrive at once begin a few in each round, in their order", async () => {
  const { begun, arrive, server } = world();
  const all = Array.from({ length: 8 }, arrive);
  const counts = [begun.length];
  for (let round = 0; round < 3; round += 1) {
    await nextRound();
    counts.push(begun.length);
  }
  expect(counts).toEqual([3, 6, 8, 8]);
  expect(begun).toEqual(all);
  for (const { resumed } of all) expect(resumed).toHaveBeenCalledOnce();
  expect((server as Server & { pauseOnConnect: boolean }).pauseOnConnect).toBe(true);
});

it("one that has ended before its turn is left out, and later ones begin at once", async () => {
  const { begun, arrive } = world();
  const all = Array.from({ length: 4 }, arrive);
  const [, , , last] = all;
  if (last !== undefined) last.destroyed = true;
  await nextRound();
  await nextRound();
  expect(begun.length).toBe(3);
  arrive();
  expect(begun.length).toBe(4);
});

it("when one has asked for the first time in a turn, the others wait for the next turns, one in each", async () => {
  const { arrive, server } = world();
  const [first, ...others] = Array.from({ length: 4 }, arrive);
  while (others.some(({ resumed }) => resumed.mock.calls.length === 0)) await nextRound();
  server.emit("request", { socket: first });
  expect(others.map(({ pause }) => pause.mock.calls.length)).toEqual([1, 1, 1]);
  const readAgain: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    await nextRound();
    readAgain.push(others.filter(({ resumed }) => resumed.mock.calls.length === 2).length);
  }
  expect(readAgain).toEqual([1, 2, 3]);
});

it("those that never ask are held once, however often others ask for the first time", async () => {
  const { arrive, server } = world();
  const asking = Array.from({ length: 4 * HEARD_AT_ONCE }, arrive);
  const silent = Array.from({ length: 50 }, arrive);
  while (silent.some(({ resumed }) => resumed.mock.calls.length === 0)) await nextRound();
  for (let turn = 0; turn < 4; turn += 1) {
    for (const socket of asking.splice(0, HEARD_AT_ONCE)) server.emit("request", { socket });
    await nextRound();
  }
  for (const { pause } of silent) expect(pause).toHaveBeenCalledOnce();
  for (let turn = 0; turn <= 50 / HEARD_AT_ONCE; turn += 1) await nextRound();
  for (const { resumed } of silent) expect(resumed).toHaveBeenCalledTimes(2);
});

it("one that ends while it is held takes nobody's turn", async () => {
  const { arrive, server } = world();
  const all = Array.from({ length: HEARD_AT_ONCE + 3 + 2 * HEARD_AT_ONCE }, arrive);
  while (all.some(({ resumed }) => resumed.mock.calls.length === 0)) await nextRound();
  for (const socket of all.slice(0, HEARD_AT_ONCE)) server.emit("request", { socket });
  const held = all.slice(HEARD_AT_ONCE);
  for (const socket of held.slice(0, 3)) socket.emit("close");
  await nextRound();
  expect(held.map(({ resumed }) => resumed.mock.calls.length)).toEqual([
    ...Array(3).fill(1),
    ...Array(HEARD_AT_ONCE).fill(2),
    ...Array(HEARD_AT_ONCE).fill(1),
  ]);
});

it("a thousand that ask only when all are open are heard a few in each turn", async () => {
  const server = createServer((_request, response) => void response.end());
  beginFewAtOnce(server);
  const heard: number[] = [];
  let inThisTurn = 0;
  server.on("request", ({ url }) => {
    heard.push(Number(url?.slice(1)));
    if (inThisTurn === 0) setImmediate(() => (inThisTurn = 0));
    inThisTurn += 1;
    expect(inThisTurn).toBeLessThanOrEqual(2 * HEARD_AT_ONCE);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clients = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const client = connect({ port, host: "127.0.0.1" });
      await once(client, "connect");
      return client;
    }),
  );
  await expect.poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(200);
  for (const [at, client] of clients.entries()) client.write(`GET /${at} HTTP/1.1\r\nhost: t\r\n\r\n`);
  const answers = await Promise.all(clients.map((client) => once(client, "data")));
  expect(answers).toHaveLength(200);
  expect(new Set(heard).size).toBe(200);
  for (const client of clients) client.destroy();
  server.close();
});
