// Requests of one connection that come before the answers to those before them.

import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";
import { ANSWERED_AT_A_TIME, MAX_PIPELINED_BYTES, MAX_UNANSWERED } from "../../../self-host/edge/turns/pipelines.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A server that answers each request with its path, when it is told to. */
const held = async () => {
  const begun: { path: string; answer: () => void }[] = [];
  const answerTo = (request: Request) =>
    new Promise<Response>((resolve) => {
      const path = new URL(request.url).pathname;
      begun.push({ path, answer: () => resolve(new Response(`answer to ${path}`)) });
    });
  const server = edgeServer(answerTo, 10);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => closeServer(server, 0));
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let text = "";
  client.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const ended = once(client, "close");
  client.on("error", () => undefined);
  await once(client, "connect");
  const ask = (count: number) =>
    client.write(Array.from({ length: count }, (_, at) => `GET /${at} HTTP/1.1\r\nHost: x\r\n\r\n`).join(""));
  return { begun, ask, ended, answers: () => [...text.matchAll(/answer to \/(\d+)/g)].map(([, at]) => Number(at)) };
};

it("begin a few at a time, and are all answered in their order", async () => {
  const { begun, ask, answers } = await held();
  ask(50);
  await expect.poll(() => begun.length).toBe(ANSWERED_AT_A_TIME);
  // The last of them may be ready first: it leaves after those before it, and no other begins for it.
  begun.at(-1)?.answer();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([begun.length, answers()]).toEqual([ANSWERED_AT_A_TIME, []]);
  for (let at = 0; at < 50; at += 1) {
    await expect.poll(() => begun.length).toBeGreaterThan(at);
    begun[at]?.answer();
  }
  await expect.poll(answers).toEqual(Array.from({ length: 50 }, (_, at) => at));
});

it("end their connection when they are too many", async () => {
  const { begun, ask, ended } = await held();
  ask(MAX_UNANSWERED + 1);
  await ended;
  expect(begun.length).toBeLessThanOrEqual(ANSWERED_AT_A_TIME);
});

it("take a bounded part of the memory, however many connections send them: one that exceeds it is cut off", async () => {
  const server = edgeServer(() => new Promise<Response>(() => undefined), 100);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => closeServer(server, 0));
  const large = `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${"x".repeat(12_000)}\r\n\r\n`;
  const ended = new Set<Socket>();
  const client = async (): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => undefined).once("close", () => ended.add(socket));
    await once(socket, "connect");
    socket.write(large.repeat(200));
    return socket;
  };
  const clients: Socket[] = [];
  const most = MAX_PIPELINED_BYTES / (192 * 16_000);
  while (clients.length < 2 * most) clients.push(await client());
  await expect.poll(() => clients.length - ended.size).toBeLessThanOrEqual(most);
  expect(ended.size).toBeLessThan(clients.length);
  for (const socket of clients) socket.destroy();
  // What waited is forgotten with its connection.
  await expect.poll(() => ended.size).toBe(clients.length);
  const next = await client();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(ended.has(next)).toBe(false);
});
