// The table of the sockets on an object's lines: one is in it from its opening to its end.

import { expect, it } from "vitest";
import { err, ok } from "../../../domain/words/result.ts";
import { LineSockets, SocketLine } from "../../../durable-objects/sockets/line-sockets.ts";
import { readSocketGroup, SocketGroupWriter } from "../../../durable-objects/sockets/socket-group.ts";
import { type Attachment, keyTag, type TenantSocket } from "../../../durable-objects/sockets/tenant-socket.ts";

const credential = { kind: "key", id: "k", hash: "h" } as const;

/** A line whose tenant accepts each worker, except one that is named `refused`, and fails at what is `broken`. */
const lineOf = () => {
  const told: string[] = [];
  const table = new LineSockets();
  const ended: TenantSocket[] = [];
  const intake = {
    open: async (socket: TenantSocket, _credential: unknown, instance: string | null) => {
      await null;
      const attachment = { kind: "worker", keyId: "k", instance } as Attachment;
      if (instance !== "refused") socket.accept(attachment);
      return instance === "refused" ? err({ code: "key_revoked" as const }) : ok(null);
    },
    hear: async (_socket: TenantSocket, text: string | null) => {
      if (text === "broken") throw new Error("the turn failed");
    },
    ended: async (socket: TenantSocket) => void ended.push(socket),
  };
  const turns = { together: <T>(begin: () => T): T => begin() };
  const line = new SocketLine((text) => told.push(text), { intake, turns, table });
  return { line, table, ended, told };
};

const closed = (socket: number): string => {
  const group = new SocketGroupWriter();
  group.close({ socket, code: 1000, reason: "" });
  return group.take().text;
};

it("a socket that closes leaves the table, under each of its tags", async () => {
  const { line, table, ended } = lineOf();
  await line.open(1, credential, "w1");
  await line.open(2, credential, "w2");
  expect([table.size, table.all("worker").length, table.all(keyTag("k")).length]).toEqual([2, 2, 2]);
  line.hear(closed(1));
  expect([table.size, table.all("worker").length, table.all(keyTag("k")).length]).toEqual([1, 1, 1]);
  expect(ended).toHaveLength(1);
});

it("when a line ends, all of its sockets leave the table, and none twice", async () => {
  const { line, table, ended } = lineOf();
  await line.open(1, credential, "w1");
  await line.open(2, credential, "w2");
  line.ended();
  line.hear(closed(2));
  expect([table.size, table.all().length, ended.length]).toEqual([0, 0, 2]);
});

it("one that the tenant refuses is never in it", async () => {
  const { line, table, ended } = lineOf();
  await line.open(1, credential, "refused");
  line.ended();
  expect([table.size, ended.length]).toEqual([0, 0]);
});

it("one that was still opening when its line ended leaves the table as soon as it is open", async () => {
  const { line, table, ended } = lineOf();
  const opening = line.open(1, credential, "w1");
  line.ended();
  await opening;
  expect([table.size, ended.length]).toEqual([0, 1]);
});

it("one whose frame failed is closed, so that its worker comes back and reports again; the others go on", async () => {
  const { line, told } = lineOf();
  await line.open(1, credential, "w1");
  await line.open(2, credential, "w2");
  const group = new SocketGroupWriter();
  group.add(1, "broken");
  group.add(2, "fine");
  await line.hear(group.take().text);
  await Promise.resolve();
  const reason = "an internal error: connect again";
  expect(told.map(readSocketGroup)).toEqual([{ texts: [], closes: [{ socket: 1, code: 1011, reason }] }]);
});
