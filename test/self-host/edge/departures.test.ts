// Connections that end beside those that are open.

import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { Departures } from "../../../self-host/edge/turns/departures.ts";

const world = (owners: readonly string[], departures = new Departures(3)) => {
  const connections = owners.map((owner) => {
    let isPaused = false;
    const pause = vi.fn(() => {
      isPaused = true;
    });
    const resume = vi.fn(() => {
      isPaused = false;
    });
    return Object.assign(new EventEmitter(), { owner, pause, resume, isPaused: () => isPaused });
  });
  const socketOf = (at: number): Socket => connections[at] as unknown as Socket;
  for (const [at, owner] of owners.entries()) departures.note(socketOf(at), owner);
  const read = (): boolean[] => connections.map(({ isPaused }) => !isPaused());
  return { connections, departures, socketOf, read };
};

it("when some of an owner's have ended, the rest of them are read a few in each turn, and others at once", async () => {
  const { connections, read } = world(["a", "a", "a", "a", "b", "a", "a", "a"]);
  for (const connection of connections.slice(0, 3)) connection.emit("end");
  expect(read()).toEqual([true, true, true, false, true, false, false, false]);
  await nextTurn();
  expect(read()).toEqual([true, true, true, true, true, true, true, false]);
  await nextTurn();
  expect(read()).toEqual(Array(8).fill(true));
});

it("unless told otherwise two of an owner's end in a turn", async () => {
  const { connections, read } = world(Array(5).fill("a"), new Departures());
  for (const connection of connections.slice(0, 2)) connection.emit("end");
  expect(read()).toEqual([true, true, false, false, false]);
  await nextTurn();
  expect(read()).toEqual([true, true, true, true, false]);
});

it("what is read again and ends with many others is held with them", async () => {
  const { connections, read } = world(Array(12).fill("a"));
  for (const connection of connections.slice(0, 3)) connection.emit("end");
  await nextTurn();
  await nextTurn();
  expect(read().filter((is) => is).length).toBe(3 + 6);
  for (const connection of connections.slice(3, 6)) connection.emit("end");
  expect(read().slice(6)).toEqual(Array(6).fill(false));
  for (let turn = 0; turn < 2; turn += 1) await nextTurn();
  expect(read()).toEqual(Array(12).fill(true));
});

it("few ends in each of many turns hold nothing", async () => {
  const { connections, read } = world(Array(9).fill("a"));
  for (let turn = 0; turn < 4; turn += 1) {
    for (const connection of connections.slice(2 * turn, 2 * turn + 2)) connection.emit("end");
    await nextTurn();
  }
  expect(read()).toEqual(Array(9).fill(true));
});

it("one that something else does not read, or that is a socket now, is left as it is", async () => {
  const { connections, departures, socketOf } = world(Array(5).fill("a"));
  connections[3]?.pause();
  departures.leave(socketOf(4));
  for (const connection of connections.slice(0, 3)) connection.emit("error", new Error("reset"));
  await nextTurn();
  await nextTurn();
  expect(connections[3]?.resume).not.toHaveBeenCalled();
  expect(connections[4]?.pause).not.toHaveBeenCalled();
});

it("hundreds that are closed at once end a few in each turn, and all of them end", async () => {
  const connections = new Set<Socket>();
  const departures = new Departures();
  const server = createServer((request, response) => {
    departures.note(request.socket, "a");
    response.end();
  });
  let endedInTurn = 0;
  let mostInTurn = 0;
  const noteEnd = (): void => {
    if (endedInTurn === 0)
      setImmediate(() => {
        endedInTurn = 0;
      });
    endedInTurn += 1;
    mostInTurn = Math.max(mostInTurn, endedInTurn);
  };
  server.on("connection", (socket) => {
    connections.add(socket);
    for (const event of ["end", "error"]) socket.once(event, noteEnd);
    socket.once("close", () => {
      connections.delete(socket);
      departures.leave(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clients = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const client = connect({ port, host: "127.0.0.1" });
      client.write("GET / HTTP/1.1\r\nhost: t\r\n\r\n");
      await once(client, "data");
      return client;
    }),
  );
  for (const [at, client] of clients.entries()) {
    if (at % 2 === 0) client.destroy();
    else client.resetAndDestroy();
  }
  await expect.poll(() => connections.size).toBe(0);
  expect(mostInTurn).toBeLessThanOrEqual(32);
  server.close();
});
