// An object's answer as its reader takes it.

import { once } from "node:events";
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { streamedBytes } from "../../../self-host/edge/streamed-bytes.ts";
import { eventually } from "../../support/eventually.ts";

let server: Server;
let sent: ServerResponse;
let answer: IncomingMessage;

beforeEach(async () => {
  server = createServer((_request, response) => {
    sent = response;
    response.flushHeaders();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const asked = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  [answer] = (await once(asked, "response")) as [IncomingMessage];
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const atOnce = (): null => null;
const text = (read: { value?: Uint8Array | undefined }): string => new TextDecoder().decode(read.value);

it("comes whole, and ends", async () => {
  const reader = streamedBytes(answer, atOnce).getReader();
  sent.write("one");
  expect(text(await reader.read())).toBe("one");
  sent.end("two");
  expect(text(await reader.read())).toBe("two");
  expect((await reader.read()).done).toBe(true);
});

it("is read only in its tenant's turn", async () => {
  const turn = Promise.withResolvers<void>();
  const takeTurn = vi.fn(() => turn.promise);
  const reader = streamedBytes(answer, takeTurn).getReader();
  const reading = reader.read();
  sent.write("one");
  await eventually(() => expect(takeTurn).toHaveBeenCalledOnce());
  sent.write("two");
  await eventually(() => expect(answer.readableLength).toBe(6));
  turn.resolve();
  expect(text(await reading)).toBe("onetwo");
});

it("that breaks off fails", async () => {
  const reader = streamedBytes(answer, atOnce).getReader();
  sent.write("one");
  await reader.read();
  sent.destroy();
  await expect(reader.read()).rejects.toThrow();
});

it("ends at its source when its reader leaves", async () => {
  const reader = streamedBytes(answer, atOnce).getReader();
  sent.write("one");
  await reader.read();
  void reader.cancel();
  await once(sent, "close");
});
