// Bytes that no HTTP client would send: the server stays up whatever arrives, and its own answers are never 5xx.

import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HOMES, openWorld, type World } from "./world.ts";

const CUT_WITHIN_MS = 20_000;
const ANSWER_WITHIN_MS = 5_000;

let world: World;

const opened = (): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(world.server.url);
    const socket = connect(Number(port), hostname, () => resolve(socket));
    socket.once("error", reject);
  });

/** Everything that comes back until `isEnough`, the end of the connection, or silence. */
const exchange = async (
  sent: string | Uint8Array,
  isEnough: (text: string) => boolean,
  withinMs: number,
): Promise<string> => {
  const socket = await opened();
  return new Promise((resolve) => {
    let text = "";
    const end = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(text);
    };
    const timer = setTimeout(end, withinMs);
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (isEnough(text)) end();
    });
    socket.on("error", end);
    socket.on("close", end);
    socket.write(sent);
  });
};

const answersIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code));
const isAnswered = (text: string): boolean => answersIn(text).length > 0 && text.includes("\r\n\r\n");

const BODY = '{"prompt":"smuggled"}';
const lines = (...parts: string[]): string => `${parts.join("\r\n")}\r\n\r\n`;
const post = (key: string, ...headers: string[]): string =>
  lines("POST /api/jobs HTTP/1.1", "Host: x", `Authorization: ${key}`, "Content-Type: application/json", ...headers);

const HOSTILE: Readonly<Record<string, (key: string) => string>> = {
  "Content-Length with Transfer-Encoding": (key) =>
    `${post(key, "Content-Length: 4", "Transfer-Encoding: chunked")}0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n`,
  "two Content-Lengths that differ": (key) => `${post(key, "Content-Length: 4", "Content-Length: 21")}${BODY}`,
  "a negative Content-Length": (key) => post(key, "Content-Length: -1"),
  "a Content-Length beyond every integer": (key) => post(key, "Content-Length: 99999999999999999999999"),
  "a Content-Length of 8 EiB": (key) => post(key, "Content-Length: 9223372036854775807"),
  "a Content-Length in hex": (key) => `${post(key, "Content-Length: 0x15")}${BODY}`,
  "an unknown Transfer-Encoding": (key) => `${post(key, "Transfer-Encoding: xchunked")}${BODY}`,
  "a chunk of a size that is no number": (key) =>
    `${post(key, "Transfer-Encoding: chunked")}zz\r\n${BODY}\r\n0\r\n\r\n`,
  "a chunk larger than every integer": (key) =>
    `${post(key, "Transfer-Encoding: chunked")}ffffffffffffffffff\r\n${BODY}`,
  "a space before the colon": (key) => `${post(key, "Content-Length : 21")}${BODY}`,
  "a folded header": (key) => post(key, "X-Folded: a", " b", "Content-Length: 0"),
  "NUL in a header": (key) => post(key, "X-Nul: a\u0000b", "Content-Length: 0"),
  "NUL in the request line": () => lines("GET /health\u0000 HTTP/1.1", "Host: x"),
  "a header of 1 MB": (key) => post(key, `X-Large: ${"a".repeat(1_000_000)}`, "Content-Length: 0"),
  "10,000 headers": () =>
    lines("GET /health HTTP/1.1", "Host: x", ...Array.from({ length: 10_000 }, (_, n) => `X-${n}: 1`)),
  "an address of 100 KB": () => lines(`GET /${"a".repeat(100_000)} HTTP/1.1`, "Host: x"),
  "an address of another host": () => lines("GET http://169.254.169.254/latest HTTP/1.1", "Host: x"),
  "no Host": () => lines("GET /health HTTP/1.1"),
  "an invalid Host": () => lines("GET /health HTTP/1.1", "Host: a b/c?d@e"),
  "HTTP/0.9": () => "GET /health\r\n\r\n",
  "HTTP/2 by prior knowledge": () => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "an unknown method": () => lines("BREW /pot HTTP/1.1", "Host: x"),
  "CONNECT as to a proxy": () => lines("CONNECT example.com:443 HTTP/1.1", "Host: example.com:443"),
  "TLS's first bytes": () => "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003",
  "a WebSocket without its key": (key) =>
    lines("GET /live HTTP/1.1", "Host: x", `Authorization: ${key}`, "Connection: Upgrade", "Upgrade: websocket"),
  "Expect of something unknown": (key) => `${post(key, "Expect: 200-maybe", "Content-Length: 21")}${BODY}`,
  "only line feeds": () => "GET /health HTTP/1.1\nHost: x\n\n",
};

describe.each(HOMES)("hostile bytes, with the edge in %s", (home) => {
  beforeAll(async () => {
    world = await openWorld(home);
  }, 90_000);
  afterAll(() => world?.close());

  test.each(Object.entries(HOSTILE))("%s: no error of ours, and the server stays up", async (_, make) => {
    const bytes = Buffer.from(make(world.bearer("admin") ?? ""), "latin1");
    const text = await exchange(bytes, isAnswered, ANSWER_WITHIN_MS);
    // Our own answers have a request id; the platform's do not.
    if (/x-request-id:/i.test(text)) expect(answersIn(text).filter((status) => status >= 500)).toEqual([]);
    expect((await world.call("none", "GET", "/health")).status).toBe(200);
  });

  test("nothing is smuggled behind a body", async () => {
    const list = async () =>
      JSON.parse((await world.call("admin", "GET", "/api/jobs?limit=200")).text) as { total: number };
    const before = (await list()).total;
    const key = world.bearer("admin") ?? "";
    const inner = `${post(key, `Content-Length: ${BODY.length}`)}${BODY}`;
    const outer = lines("POST /dispatch HTTP/1.1", "Host: x", "Content-Length: 5", "Transfer-Encoding: chunked");
    await exchange(`${outer}0\r\n\r\n${inner}`, (text) => answersIn(text).length > 1, 1_000);
    expect((await list()).total).toBe(before);
  });

  test("requests sent one behind the other are answered one behind the other", async () => {
    const key = world.bearer("admin") ?? "";
    const one = lines("GET /health HTTP/1.1", "Host: x");
    const job = `${post(key, `Content-Length: ${BODY.length}`)}${BODY}`;
    const text = await exchange(one + job + one, (seen) => answersIn(seen).length === 3, ANSWER_WITHIN_MS);
    expect(answersIn(text)).toEqual([200, 201, 200]);
  });

  test("a hundred callers that stop in the middle of their headers keep nobody waiting", async () => {
    const sockets = await Promise.all(Array.from({ length: 100 }, opened));
    for (const socket of sockets)
      socket.on("error", () => undefined).write("POST /api/jobs HTTP/1.1\r\nHost: x\r\nX-Half");
    expect((await world.call("admin", "POST", "/api/jobs", { prompt: "a job" })).status).toBe(201);
    for (const socket of sockets) socket.destroy();
    expect((await world.call("none", "GET", "/health")).status).toBe(200);
  });

  test("a body that never ends is cut with 408", { timeout: CUT_WITHIN_MS * 2 }, async () => {
    const key = world.bearer("admin") ?? "";
    const declared = `${post(key, "Content-Length: 1000")}{"prompt":`;
    const chunked = `${post(key, "Transfer-Encoding: chunked")}5\r\n{"pro\r\n`;
    const answers = await Promise.all(
      [declared, chunked].map((sent) => exchange(sent, (text) => text.includes("request_timeout"), CUT_WITHIN_MS)),
    );
    expect(answers.map(answersIn)).toEqual([[408], [408]]);
  });
});
