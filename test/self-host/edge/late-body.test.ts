// A client that reads its answer only when it has sent its whole body, which is far too large.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";
import { LATE_BODY, LateBodies } from "../../../self-host/edge/late-body.ts";

const MIB = 1024 * 1024;
/** Who rests for half a second is cut off by the adapter. */
const LONGER_THAN_THE_ADAPTER_MS = 700;
const PIECE = Buffer.alloc(MIB, "x");
let server: Server;

afterEach(() => closeServer(server, 0));

const listening = async (made: Server): Promise<void> => {
  server = made.listen(0, "127.0.0.1");
  await once(server, "listening");
};

/** Sends all that the server takes, with a rest behind the first half, reads then, and resolves to what came first. */
const sendAll = async (mib: number, headers = "", restsMs = 0) => {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
  const { promise: gone, resolve: end } = Promise.withResolvers<void>();
  for (const event of ["error", "close"]) socket.on(event, () => end());
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${mib * MIB}\r\n\r\n`);
  let isGone = false;
  void gone.then(() => {
    isGone = true;
  });
  let sentMib = 0;
  for (; sentMib < mib && !isGone; sentMib += 1) {
    if (sentMib * 2 === mib) await Promise.race([pause(restsMs), gone]);
    await Promise.race([new Promise((resolve) => socket.write(PIECE, resolve)), gone]);
  }
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => {
    text += chunk;
  });
  const came = once(socket, "data");
  socket.resume();
  await Promise.race([came, gone]);
  return { socket, sentMib, text };
};

const TOO_LARGE = () => new Response("too large", { status: 413 });

it.each([
  ["keeps its connection", ""],
  ["asks for its end", "Connection: close\r\n"],
])("who %s gets the refusal behind 20 MiB", async (_, headers) => {
  await listening(edgeServer(TOO_LARGE, 10));
  const { socket, sentMib, text } = await sendAll(20, headers, LONGER_THAN_THE_ADAPTER_MS);
  expect([sentMib, text.slice(0, 12)]).toEqual([20, "HTTP/1.1 413"]);
  if (headers === "") {
    // The next request on the connection is answered, too.
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(socket, "data");
  } else await once(socket, "end");
  socket.destroy();
});

it.each([
  ["so many bytes", { ...LATE_BODY, bytes: 20 * MIB }],
  ["so long", { ...LATE_BODY, ms: 100 }],
])("who goes on for %s is cut off", async (_, bounds) => {
  const late = new LateBodies(bounds);
  const refuse = createServer((incoming, outgoing) => {
    late.expect(incoming, outgoing);
    outgoing.writeHead(413).end("too large");
  });
  await listening(refuse);
  const { socket, sentMib } = await sendAll(9_000);
  expect(sentMib).toBeLessThan(9_000);
  socket.destroy();
});

it("all together are read at a pace", async () => {
  await listening(edgeServer(TOO_LARGE, 10));
  const reads: number[] = [];
  const ends: Promise<unknown>[] = [];
  server.on("request", (incoming) => {
    incoming.on("data", () => reads.push(performance.now()));
    ends.push(once(incoming, "end"));
  });
  const sent = await Promise.all([sendAll(4), sendAll(4), sendAll(4)]);
  // The system's buffers may hold a whole body, so that the client has its answer before the server has read it.
  await Promise.all(ends);
  for (const { socket } of sent) socket.destroy();
  expect((reads.at(-1) ?? 0) - (reads[0] ?? 0)).toBeGreaterThan(50);
});
