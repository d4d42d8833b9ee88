// A client that reads its answer only when it has sent its whole body, which is far too large.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterEach, expect, it } from "vitest";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";
import { dropLateBody } from "../../../self-host/edge/late-body.ts";

const MIB = 1024 * 1024;
const PIECE = Buffer.alloc(MIB, "x");
let server: Server;

afterEach(() => closeServer(server, 0));

const listening = async (made: Server): Promise<void> => {
  server = made.listen(0, "127.0.0.1");
  await once(server, "listening");
};

/** Sends all that the server takes, reads then, and resolves to what came. */
const sendAll = async (mib: number, headers = ""): Promise<{ sentMib: number; text: string }> => {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
  let isGone = false;
  const gone = Promise.withResolvers<void>();
  for (const event of ["error", "close"])
    socket.on(event, () => {
      isGone = true;
      gone.resolve();
    });
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${mib * MIB}\r\n\r\n`);
  let sentMib = 0;
  for (; sentMib < mib && !isGone; sentMib += 1)
    await Promise.race([new Promise((resolve) => socket.write(PIECE, resolve)), gone.promise]);
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  const came = once(socket, "data");
  socket.resume();
  await Promise.race([came, gone.promise]);
  socket.destroy();
  return { sentMib, text };
};

it.each([
  ["keeps its connection", ""],
  ["asks for its end", "Connection: close\r\n"],
])("who %s gets the refusal behind 300 MiB", async (_, headers) => {
  await listening(edgeServer(() => new Response("too large", { status: 413 }), 10));
  const { sentMib, text } = await sendAll(300, headers);
  expect([sentMib, text.slice(0, 12)]).toEqual([300, "HTTP/1.1 413"]);
});

it("who goes on beyond the bound, of bytes or of time, is cut off", async () => {
  for (const bound of [
    { bytes: 20 * MIB, ms: 60_000 },
    { bytes: 10_000 * MIB, ms: 100 },
  ]) {
    await listening(
      createServer((incoming, outgoing) => {
        dropLateBody(incoming, outgoing, bound);
        outgoing.writeHead(413).end("too large");
      }),
    );
    expect((await sendAll(9_000)).sentMib).toBeLessThan(9_000);
    await closeServer(server, 0);
  }
});
