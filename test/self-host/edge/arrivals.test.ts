// New connections beside those that are open.

import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextRound } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { beginFewAtOnce } from "../../../self-host/edge/arrivals.ts";

const world = () => {
  const begun: Socket[] = [];
  const server = new EventEmitter().on("connection", (socket: Socket) => begun.push(socket)) as unknown as Server;
  beginFewAtOnce(server, 3);
  const arrive = () => {
    const resumed = vi.fn();
    const socket = { destroyed: false, resume: resumed, resumed };
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
