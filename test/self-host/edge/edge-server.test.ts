// What the HTTP server in Node does before the app. What it refuses is always a problem document with a request id.

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import type { IncomingMessage, Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Hono } from "hono";
import { afterAll, beforeAll, expect, it } from "vitest";
import { closeServer, edgeServer } from "../../../self-host/edge/http-server.ts";
import { endpoints } from "../../../src/app.ts";
import type { Env } from "../../../src/env.ts";
import { authenticateCaller, type Variables } from "../../../src/http/auth.ts";
import { mint } from "../../../src/http/key-format.ts";

let server: Server;
beforeAll(async () => {
  const sees = (one: IncomingMessage): string => (one.rawHeaders.includes("Host") ? "with a Host" : "without Host");
  server = edgeServer(
    (_, { incoming, head }) =>
      new Response(`from the app, ${sees(incoming)}${head === undefined ? "" : ", a handshake"}`),
    100,
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => closeServer(server, 0));

/** Everything that comes back until the server ends the connection. */
const exchange = (sent: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1", () => socket.write(sent));
    let text = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      text += chunk;
    });
    socket.on("error", reject).on("end", () => {
      socket.destroy();
      resolve(text);
    });
  });

const END = "\r\n\r\n";

const countConnections = (): Promise<number> =>
  new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))));

it.each([
  ["CONNECT", `CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443${END}`, 405, "method_not_allowed"],
  ["headers of 100 KB", `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${"a".repeat(100_000)}${END}`, 431, "headers_too_large"],
  ["an address of 100 KB", `GET /${"a".repeat(100_000)} HTTP/1.1\r\nHost: x${END}`, 431, "headers_too_large"],
  ["what is no HTTP", `hello${END}`, 400, "invalid_request"],
  ["a request without Host", `GET / HTTP/1.1\r\nConnection: close${END}`, 400, "invalid_request"],
  ["TLS", "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003", 400, "invalid_request"],
  [
    "a Content-Length that is no number",
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x${END}`,
    400,
    "invalid_request",
  ],
])("%s is refused with a problem document", async (_, sent, status, code) => {
  const [head = "", body = ""] = (await exchange(sent)).split(END);
  expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z]`));
  expect(head.toLowerCase()).toContain("\r\ncontent-type: application/problem+json\r\n");
  const problem = JSON.parse(body);
  expect(problem).toMatchObject({ status, code });
  expect(head).toContain(`x-request-id: ${problem.instance}`);
  if (status === 405) expect(head).toMatch(/\r\nallow: GET, /);
});

const UPGRADE = `GET /live HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket${END}`;

it("a handshake is one at each endpoint of a socket, and a plain request elsewhere", async () => {
  const isOfSocket = new Map(
    endpoints.map(({ description: { path, refuses = [] } }) => [path, refuses.includes("upgrade_required")] as const),
  );
  const taken: string[] = [];
  for (const path of isOfSocket.keys()) {
    const handshake = UPGRADE.replace("/live", path.replace(/\{\w+\}/g, "x"));
    if ((await exchange(handshake)).includes("a handshake")) taken.push(path);
  }
  expect(taken).toHaveLength(3);
  expect(taken).toEqual([...isOfSocket.keys()].filter((path) => isOfSocket.get(path)));
});

it("a handshake behind an answer that has not left is a plain request", async () => {
  const answers = await exchange(`GET / HTTP/1.1\r\nHost: x${END}${UPGRADE}`);
  expect(answers.match(/from the app/g)).toHaveLength(2);
});

it("a handshake is one only where there is a socket", async () => {
  expect(await exchange(UPGRADE)).toContain("a handshake");
  expect(await exchange(UPGRADE.replace("/live", "/api/workers/w%201/connect?x=1"))).toContain("a handshake");
  expect(await exchange(UPGRADE.replace("/live", "/api/jobs"))).not.toContain("a handshake");
});

it("a client that resets its connection after CONNECT harms nobody", async () => {
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => undefined);
  client.write(`CONNECT x:1 HTTP/1.1\r\nHost: x:1${END}`);
  await once(client, "data");
  client.resetAndDestroy();
  await expect.poll(countConnections).toBe(0);
  expect(await exchange(`GET / HTTP/1.1\r\nHost: x\r\nConnection: close${END}`)).toContain("from the app");
});

it.each([
  ["CONNECT", `CONNECT x:1 HTTP/1.1\r\nHost: x:1${END}`],
  ["a handshake", UPGRADE],
])("a connection that is refused for %s ends, although its client sends more and does not leave", async (_, sent) => {
  const client = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
  client.write(`${sent}what is not read`);
  await once(client, "data");
  await expect.poll(() => countConnections(), { timeout: 3_000 }).toBe(0);
  client.destroy();
});

it.each([
  ["HTTP/1.0 without Host, as a proxy's health check sends it", `GET /health HTTP/1.0${END}`],
  ["an expectation that nobody knows", `GET / HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close${END}`],
])("%s is answered by the app", async (_, sent) => {
  const answer = await exchange(sent);
  expect([answer.slice(0, 15), answer]).toEqual([
    "HTTP/1.1 200 OK",
    expect.stringContaining("from the app, with a Host"),
  ]);
});

it("after refusals the server goes on", async () => {
  expect(await exchange(`GET / HTTP/1.1\r\nHost: x\r\nConnection: close${END}`)).toContain("from the app");
});

/** Linux's word for a connection on which the next timer is that of keep-alive. */
const PROBED = "02";

it.runIf(process.platform === "linux")(
  "a connection in silence is probed, so that a lost client is noticed",
  async () => {
    const { port } = server.address() as AddressInfo;
    const socket = connect(port, "127.0.0.1");
    await once(server, "connection");
    const own = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    const [timer] = (await readFile("/proc/net/tcp", "utf8"))
      .split("\n")
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => local?.endsWith(own) && state === "01")
      .map(([, , , , , timing]) => timing?.split(":")[0]);
    socket.destroy();
    expect(timer).toBe(PROBED);
  },
);

it("cuts off clients that read nothing of large answers, as many as must be", async () => {
  const large = Buffer.alloc(8 * 1024 * 1024, "x");
  const generous = edgeServer(() => new Response(large), 60);
  generous.listen(0, "127.0.0.1");
  await once(generous, "listening");
  const { port } = generous.address() as AddressInfo;
  const connections = (): Promise<number> =>
    new Promise((resolve) => generous.getConnections((_, count) => resolve(count)));
  let opened = 0;
  generous.on("connection", () => {
    opened += 1;
  });
  const clients = Array.from({ length: 60 }, () => {
    const client = connect(port, "127.0.0.1", () => client.write(`GET / HTTP/1.1\r\nHost: x${END}`)).pause();
    return client.on("error", () => undefined);
  });
  await expect.poll(() => opened).toBe(60);
  await expect.poll(connections).toBeLessThan(60);
  expect(await connections()).toBeGreaterThan(10);
  for (const client of clients) client.destroy();
  await closeServer(generous, 0);
});

it("begins what one key asks at once in several turns of the event loop", async () => {
  let [begun, inThisTurn, mostInATurn] = [0, 0, 0];
  const fair = edgeServer(() => {
    if (inThisTurn === 0) setImmediate(() => (inThisTurn = 0));
    begun += 1;
    inThisTurn += 1;
    mostInATurn = Math.max(mostInATurn, inThisTurn);
    return new Response("done");
  }, 10);
  fair.listen(0, "127.0.0.1");
  await once(fair, "listening");
  const one = `GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer one${END}`;
  const client = connect((fair.address() as AddressInfo).port, "127.0.0.1", () => client.write(one.repeat(100)));
  client.resume();
  await expect.poll(() => begun).toBe(100);
  expect(mostInATurn).toBeLessThanOrEqual(64);
  client.destroy();
  await closeServer(fair, 0);
});

it("while it ends, it answers what comes on an open connection, as the last on it", async () => {
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ending = edgeServer(async (request) => {
    if (request.url.endsWith("/first")) {
      first.resolve();
      await second.promise;
    } else second.resolve();
    return new Response("done");
  }, 10);
  ending.listen(0, "127.0.0.1");
  await once(ending, "listening");
  const { port } = ending.address() as AddressInfo;
  let heard = "";
  const client = connect(port, "127.0.0.1", () => client.write(`GET /first HTTP/1.1\r\nHost: x${END}`));
  client.on("data", (bytes) => {
    heard += bytes;
  });
  const hasEnded = once(client, "end");
  await first.promise;
  const closed = closeServer(ending, 2_000);
  client.write(`GET /second HTTP/1.1\r\nHost: x${END}`);
  await hasEnded;
  await closed;
  expect(heard.match(/HTTP\/1.1 200/g)).toHaveLength(2);
  expect(heard.match(/connection: close/gi)).toHaveLength(1);
  expect(heard.toLowerCase().lastIndexOf("connection: close")).toBeGreaterThan(heard.lastIndexOf("HTTP/1.1 200"));
});

it("when it ends, it answers a request that was on its way on an idle connection, and closes the connection", async () => {
  const ending = edgeServer(() => new Response("done"), 10);
  ending.listen(0, "127.0.0.1");
  await once(ending, "listening");
  const { port } = ending.address() as AddressInfo;
  const client = connect(port, "127.0.0.1", () => client.write(`GET /first HTTP/1.1\r\nHost: x${END}`));
  await once(client, "data");
  const closed = closeServer(ending, 2_000);
  client.write(`GET /second HTTP/1.1\r\nHost: x${END}`);
  const hasEnded = once(client, "end");
  const [answer] = (await once(client, "data")) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1.1 200 OK.*connection: close/is);
  await hasEnded;
  await closed;
});

it("closes connections beyond as many as it may have, and takes others when they have ended", async () => {
  const small = edgeServer(() => new Response("done"), 3);
  small.listen(0, "127.0.0.1");
  await once(small, "listening");
  const { port } = small.address() as AddressInfo;
  const open = (): Socket => connect(port, "127.0.0.1").on("error", () => undefined);
  const silent = [open(), open(), open()];
  await expect.poll(() => silent.every(({ connecting }) => !connecting)).toBe(true);
  const counted = (): Promise<number> => new Promise((resolve) => small.getConnections((_, count) => resolve(count)));
  await expect.poll(counted).toBe(3);
  const refused = open();
  await once(refused, "close");
  silent[0]?.destroy();
  await expect.poll(counted).toBe(2);
  const next = open();
  next.write(`GET / HTTP/1.1\r\nHost: x${END}`);
  const [answer] = (await once(next, "data")) as [Buffer];
  expect(answer.toString()).toContain("200 OK");
  for (const one of [...silent, next]) one.destroy();
  await closeServer(small, 0);
});

const REQUESTS_A_CONNECTION = 8;

/** What the app sees of requests that come at once over many connections, and the most in one turn of the event loop. */
const hearAll = async (requests: readonly string[]) => {
  const order: string[] = [];
  let [inThisTurn, mostInATurn] = [0, 0];
  const count = Math.ceil(requests.length / REQUESTS_A_CONNECTION);
  const fair = edgeServer(({ url, headers }) => {
    if (url.endsWith("/first")) return new Response("done");
    if (inThisTurn === 0) setImmediate(() => (inThisTurn = 0));
    inThisTurn += 1;
    mostInATurn = Math.max(mostInATurn, inThisTurn);
    order.push(headers.get("x-api-key") ?? new URL(url).pathname);
    return new Response("done");
  }, count);
  fair.listen(0, "127.0.0.1");
  await once(fair, "listening");
  const clients = Array.from({ length: count }, () => connect((fair.address() as AddressInfo).port, "127.0.0.1"));
  // New connections begin a few at a time.
  const begun = clients.map((client) => once(client, "data"));
  for (const client of clients) client.write(`GET /first HTTP/1.1\r\nHost: x${END}`);
  await Promise.all(begun);
  for (const [at, client] of clients.entries()) {
    const first = at * REQUESTS_A_CONNECTION;
    client.resume().write(requests.slice(first, first + REQUESTS_A_CONNECTION).join(""));
  }
  await expect.poll(() => order.length).toBe(requests.length);
  for (const client of clients) client.destroy();
  await closeServer(fair, 0);
  return { order, mostInATurn };
};

/** A key that a caller brought before. */
const usedKey = async (): Promise<string> => {
  const { token } = await mint("secret", "client", "acme", null);
  const known = new Hono<{ Bindings: Env; Variables: Variables }>();
  known.get("/", async (c) => c.json(await authenticateCaller(c)));
  const env = { SERVICE_SIGNING_SECRET: "secret" } as Env;
  await known.request("/", { headers: { authorization: `Bearer ${token}` } }, env);
  return token;
};

const asked = (key: string): string => `POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}${END}`;

it("takes turns by the key, wherever a request has it", async () => {
  const [many, other] = await Promise.all([usedKey(), usedKey()]);
  const { order } = await hearAll([...Array.from({ length: 200 }, () => asked(many)), asked(other)]);
  expect(order.indexOf(other)).toBeLessThan(150);
});

it("begins few requests of strangers in a turn, whatever keys and paths they invent", async () => {
  const keys = Array.from({ length: 100 }, (_, at) => asked(`invented-${at}`));
  const paths = Array.from({ length: 100 }, (_, at) => `GET /${at} HTTP/1.1\r\nHost: x${END}`);
  const health = `GET /health HTTP/1.1\r\nHost: x${END}`;
  const { order, mostInATurn } = await hearAll([...keys, ...paths, health]);
  expect(mostInATurn).toBeLessThanOrEqual(2 * 8 + 1);
  expect(order.indexOf("/health")).toBeLessThan(150);
});

it("begins fewer requests with long bodies in a turn, whether or not they say how long", async () => {
  const clients = 16;
  const body = "x".repeat(64 * 1024);
  const ways = [
    `Content-Length: ${body.length}${END}${body}`,
    `Transfer-Encoding: chunked${END}10000\r\n${body}\r\n0${END}`,
  ];
  for (const way of ways) {
    let [inThisTurn, mostInATurn, heard] = [0, 0, 0];
    const fair = edgeServer(() => {
      if (inThisTurn === 0) setImmediate(() => (inThisTurn = 0));
      inThisTurn += 1;
      heard += 1;
      mostInATurn = Math.max(mostInATurn, inThisTurn);
      return new Response("done");
    }, 2 * clients);
    fair.listen(0, "127.0.0.1");
    await once(fair, "listening");
    const { port } = fair.address() as AddressInfo;
    const key = await usedKey();
    const lines = Array.from({ length: clients }, () => connect(port, "127.0.0.1"));
    for (const line of lines) line.resume().write(asked(key));
    await expect.poll(() => heard).toBe(clients);
    mostInATurn = 0;
    for (const line of lines) line.write(`POST / HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key}\r\n${way}`);
    await expect.poll(() => heard).toBe(2 * clients);
    for (const line of lines) line.destroy();
    await closeServer(fair, 0);
    expect(mostInATurn).toBeLessThanOrEqual(2 * 4);
  }
});
