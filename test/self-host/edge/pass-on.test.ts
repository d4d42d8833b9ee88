// Requests that Node passes on to workerd: a client that disconnects ends its request there at once, at any moment, and
// a client whose handshake workerd refused says nothing more to it.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import path from "node:path";
import { PassThrough } from "node:stream";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { FileRoom } from "../../../self-host/edge/file-room.ts";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";
import { passOn, tunnel } from "../../../self-host/edge/pass-on.ts";
import type { AppContext } from "../../../src/http/auth.ts";
import { refusalOfLost } from "../../../src/tenant/tenant-object.ts";
import { folderForEachTest } from "../../support/temporary-folder.ts";

const AT_ONCE_MS = 500;
const MIB = 1024 * 1024;

const folder = folderForEachTest();
let workerd: Server;
let edge: Server;
let arrived: Promise<IncomingMessage>;
let beforePassing: () => Promise<void>;
let disk: "ok" | "full";
const files = new FileRoom(() => disk === "full");

beforeEach(async () => {
  const socketPath = path.join(folder.path, "edge.sock");
  beforePassing = async () => undefined;
  disk = "ok";
  workerd = createServer();
  arrived = once(workerd, "request").then(([request]) => request as IncomingMessage);
  workerd.listen(socketPath);
  await once(workerd, "listening");
  edge = edgeServer(async (request, exchange) => {
    await beforePassing();
    const context = { get: () => "id", env: { HOME: { disk: () => ({ state: disk }) } } } as unknown as AppContext;
    const refused = (error: unknown) => new Response(refusalOfLost(context.env, error)?.code, { status: 503 });
    if (exchange.head === undefined) {
      const answer = await passOn(context, exchange, socketPath, files).catch(refused);
      // As hono answers it.
      return request.method === "HEAD" ? new Response(null, answer) : answer;
    }
    return tunnel(context, exchange, socketPath, () => [new PassThrough(), new PassThrough()]);
  }, 10);
  edge.listen(0, "127.0.0.1");
  await once(edge, "listening");
});
afterEach(async () => {
  await closeServer(edge, 0);
  workerd.closeAllConnections();
  workerd.close();
});

const client = (sent: string) => {
  const socket = connect((edge.address() as AddressInfo).port, "127.0.0.1", () => socket.write(sent));
  socket.on("error", () => undefined);
  return socket;
};
const endedWithin = ({ socket }: IncomingMessage): Promise<boolean> =>
  new Promise((resolve) => {
    socket.on("error", () => undefined);
    socket.once("close", () => resolve(true));
    setTimeout(resolve, AT_ONCE_MS, false);
  });
const get = "GET /x HTTP/1.1\r\nHost: x\r\n\r\n";
const post = "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf";

it("the answer to HEAD is sent once", async () => {
  const reported = vi.spyOn(console, "error").mockReturnValue(undefined);
  workerd.on("request", (_request, response) => response.writeHead(200, { "content-length": 950 }).end());
  const socket = client(get.replace("GET", "HEAD"));
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1.1 200 OK\r\ncontent-length: 950\r\n/i);
  // The adapter reports what it cannot send.
  const [next] = (await Promise.all([once(socket, "data"), socket.write(get.replace("GET", "HEAD"))]))[0] as [Buffer];
  expect(String(next)).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  expect(reported).not.toHaveBeenCalled();
  socket.destroy();
});

it("while it waits for the answer", async () => {
  const socket = client(get);
  const request = await arrived;
  socket.destroy();
  expect(await endedWithin(request)).toBe(true);
});

it("while it sends its body", async () => {
  workerd.on("checkContinue", (request, response) => {
    response.writeContinue();
    workerd.emit("request", request, response);
  });
  const socket = client(post);
  const request = await arrived;
  request.resume();
  await once(request, "data");
  socket.destroy();
  expect(await endedWithin(request)).toBe(true);
});

it.each([
  ["/x", "application/octet-stream"],
  ["/api/files?name=a.png", "image/png"],
  ["/api/jobs/1/result?lease=1", "application/json"],
])(
  "while it sends a file to %s: the app sees it break off, and may delete what has come until it answers",
  async (route, type) => {
    let breaksOff: Promise<unknown> = Promise.resolve();
    workerd.on("checkContinue", (request: IncomingMessage, response) => {
      // Workerd answers a body that breaks off; Node would end the connection.
      workerd.once("clientError", () => undefined);
      breaksOff = once(request.socket, "end");
      request.on("error", () => undefined).resume();
      response.writeContinue();
      workerd.emit("request", request, response);
    });
    const head = post.replace(/ \/\S* /, ` ${route} `);
    const socket = client(head.replace("\r\n\r\n", `\r\nContent-Type: ${type}\r\n\r\n`));
    const request = await arrived;
    await once(request, "data");
    socket.destroy();
    await breaksOff;
    const answer = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    // Where nobody reads it any more, workerd would have ended the request without a word to the app.
    expect(await new Promise((resolve) => request.socket.write(answer, resolve))).toBeFalsy();
    request.socket.end();
    expect(await endedWithin(request)).toBe(true);
  },
);

it("while the answer streams", async () => {
  workerd.on("request", (_request, response) => {
    response.writeHead(200);
    response.write("first");
  });
  const socket = client(get);
  const request = await arrived;
  await once(socket, "data");
  socket.destroy();
  expect(await endedWithin(request)).toBe(true);
});

it("before it is passed on: then it never gets there", async () => {
  const asked: string[] = [];
  workerd.on("request", ({ url = "" }: IncomingMessage, response) => {
    asked.push(url);
    response.end();
  });
  const hasLeft = once(edge, "connection").then(([incoming]) => once(incoming as Socket, "close"));
  beforePassing = async () => {
    socket.destroy();
    await hasLeft;
  };
  const socket = client(get);
  await hasLeft;
  expect((await fetch(`http://127.0.0.1:${(edge.address() as AddressInfo).port}/after`)).status).toBe(200);
  expect(asked).toEqual(["/after"]);
});

const handshake =
  "GET /live HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const heardBy = (socket: Socket): (() => string) => {
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes;
  });
  return () => text;
};

it("an error that names no reason is told as a full disk while the disk is full", async () => {
  workerd.on("request", (_, response) => response.writeHead(500).end("internal"));
  const ask = async () => (await fetch(`http://127.0.0.1:${(edge.address() as AddressInfo).port}/x`)).text();
  expect(await ask()).toBe("internal");
  disk = "full";
  expect(await ask()).toBe("storage_full");
  workerd.removeAllListeners("request").on("request", (_, response) => response.destroy());
  expect(await ask()).toBe("storage_full");
  disk = "ok";
  expect(await ask()).toBe("tenant_unavailable");
});

it("a file ends where the disk is full: the app sees it break off, and its client is told why", async () => {
  let heard = 0;
  workerd.on("checkContinue", (request: IncomingMessage, response) => {
    response.writeContinue();
    request.on("data", (bytes: Buffer) => {
      heard += bytes.byteLength;
      if (heard > 2 * MIB) disk = "full";
    });
    request.on("error", () => response.writeHead(400).end("it broke off"));
  });
  const send = async (type: string, route = "/x") => {
    const body = new Blob([Buffer.alloc(8 * MIB)]);
    const init = { method: "POST", body, headers: { "content-type": type } };
    return (await fetch(`http://127.0.0.1:${(edge.address() as AddressInfo).port}${route}`, init)).text();
  };
  expect(await send("multipart/form-data; boundary=x")).toBe("storage_full");
  expect(heard).toBeLessThan(8 * MIB);
  // The disk is full already: nothing of it passes; of a worker's output a part does.
  for (const [route, most] of [
    ["/x", 0],
    ["/api/jobs/1/files", MIB],
  ] as const) {
    heard = 0;
    expect(await send("application/octet-stream", route)).toBe("storage_full");
    expect(heard).toBeLessThanOrEqual(most);
  }
});

it("a handshake that is refused ends the connection: what the client sends behind it reaches nobody", async () => {
  const asked: string[] = [];
  workerd.on("request", ({ url = "" }: IncomingMessage, response) => {
    asked.push(url);
    response.writeHead(404, { "content-length": 12 }).end("nothing here");
  });
  const socket = client(`${handshake}GET /at-once HTTP/1.1\r\nHost: x\r\n\r\n`);
  const heard = heardBy(socket);
  socket.once("data", () => socket.write("GET /later HTTP/1.1\r\nHost: x\r\n\r\n"));
  await once(socket, "close");
  expect(heard()).toMatch(/^HTTP\/1.1 404 .*nothing here$/s);
  expect((await fetch(`http://127.0.0.1:${(edge.address() as AddressInfo).port}/after`)).status).toBe(404);
  expect(asked).toEqual(["/live", "/after"]);
});

it("after a handshake that is accepted bytes go both ways, also those that came with it", async () => {
  workerd.on("upgrade", (_request, upstream, head) => {
    const accepted = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: yes";
    upstream.write(`HTTP/1.1 101 Switching Protocols\r\n${accepted}\r\n\r\nfirst,`);
    upstream.write(head);
    upstream.pipe(upstream);
  });
  const socket = client(`${handshake}early,`);
  const heard = heardBy(socket);
  await expect.poll(heard).toContain("first,early,");
  socket.write("late");
  await expect.poll(heard).toMatch(/^HTTP\/1.1 101 .*Sec-WebSocket-Accept: yes\r\n\r\nfirst,early,late$/s);
  socket.destroy();
});

it("a handshake loses its offer of compression: what passes is paced by its bytes", async () => {
  const offered = new Promise((resolve) => {
    workerd.on("upgrade", ({ headers }: IncomingMessage, upstream) => {
      resolve(headers["sec-websocket-extensions"]);
      upstream.destroy();
    });
  });
  client(handshake.replace(/\r\n$/, "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"));
  expect(await offered).toBeUndefined();
});

it("a body that is refused in its middle has the app's own answer, each time", async () => {
  workerd.on("checkContinue", (request: IncomingMessage, response) => {
    response.writeContinue();
    request.once("data", () => {
      request.pause();
      response.writeHead(507, { connection: "close" }).end("full", () => request.socket.destroy());
    });
  });
  const url = `http://127.0.0.1:${(edge.address() as AddressInfo).port}/x`;
  const answers: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    const { status, text } = await fetch(url, { method: "POST", body: "x".repeat(8_000_000) }).then(async (answer) => ({
      status: answer.status,
      text: await answer.text(),
    }));
    answers.push(text === "full" ? status : 0);
  }
  expect(answers).toEqual(Array.from({ length: 10 }, () => 507));
});
