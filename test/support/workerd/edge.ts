// Where the tests' requests go: to the worker as deployed, or to the same app with its bindings in Node, self-hosted:
// objects behind the private connection, calls in groups, sockets on lines, D1 as messages, and the rest passed on. The project of
// vitest.config.ts decides which.

import { createExecutionContext } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { createHash } from "node:crypto";
import { ok } from "../../../domain/words/result.ts";
import { linesOf, readOutcome } from "../../../durable-objects/calls/grouped-calls.ts";
import { askedText, GROUP, LINE_URL, readAnswered } from "../../../durable-objects/sockets/object-line.ts";
import { historyDatabase } from "../../../self-host/edge/history-database.ts";
import { objectNamespace, objectPath } from "../../../self-host/edge/object-namespace.ts";
import type { ObjectProcess } from "../../../self-host/edge/object-process.ts";
import type { TextConnections } from "../../../self-host/edge/text-connections.ts";
import { FairTurns } from "../../../self-host/edge/turns/fair-turns.ts";
import { app } from "../../../src/app.ts";
import type { Env } from "../../../src/env.ts";
import type { Home } from "../../../src/home.ts";
import { PrivateDoor } from "../../../src/private-door.ts";
import { newClient, socketsOf } from "./line-sockets.ts";

const SECRET = "secret-of-the-private-door";
const ROOM = 1024 ** 4;

const knock = (path: string, init: RequestInit): Promise<Response> => {
  const door = new PrivateDoor(createExecutionContext(), {
    ...(env as unknown as Env),
    SERVICE_PRIVATE_SECRET: SECRET,
  });
  const headers = { ...(init.headers as Record<string, string>), authorization: SECRET };
  return door.fetch(new Request(`http://workerd${path}`, { ...init, headers }));
};

/** A line of its own for each call: an open one would keep its object from sleeping. */
const askOnLine = async (path: string, method: string, text: string): Promise<string> => {
  const { webSocket } = await knock(path, { headers: { upgrade: "websocket", "x-signalbox-url": LINE_URL } });
  if (webSocket === null) throw new Error("the door opens no line");
  webSocket.accept();
  const answer = new Promise<string>((resolve, reject) => {
    webSocket.addEventListener("message", ({ data }) => resolve(readAnswered(String(data)).text));
    webSocket.addEventListener("close", () => reject(new Error("the object ended the line")));
  });
  webSocket.send(askedText({ number: 1, method, text }));
  return answer.finally(() => webSocket.close());
};

/** As `ObjectProcess` calls the objects, without the Unix socket. */
const objectProcess = {
  sendGroup: async (path: string, group: string): Promise<unknown> => linesOf(await askOnLine(path, GROUP, group)),
  call: async (path: string, method: string, args: readonly unknown[]): Promise<unknown> =>
    readOutcome(await askOnLine(path, method, JSON.stringify(args))),
  fetch: (
    path: string,
    url: string,
    { method = "GET", body = null }: { method?: string; body?: BodyInit | null } = {},
  ) => knock(path, { method, body, headers: { "x-signalbox-url": url } }),
} as unknown as ObjectProcess;

interface Statement {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/** As the history process answers. */
const historyConnections = {
  post: async (_path: string, body: string): Promise<string> => {
    const statements = (JSON.parse(body) as Statement[]).map(({ sql, params }) => env.DB.prepare(sql).bind(...params));
    try {
      return JSON.stringify(await env.DB.batch(statements));
    } catch (error) {
      return JSON.stringify({ success: false, error: (error as Error).message });
    }
  },
} as unknown as TextConnections;

const turns = new FairTurns();
const ends = new WeakMap<Request, () => void>();

/** As Node tells that an answer has been sent, or that its client has left. */
const watched = (request: Request, answer: Response): Response => {
  const ended = ends.get(request) ?? (() => undefined);
  if (answer.body === null || answer.webSocket !== null) {
    ended();
    return answer;
  }
  // Before the client has the last byte, as in Node.
  const { readable, writable } = new TransformStream({ flush: ended, cancel: ended });
  answer.body.pipeTo(writable).catch(ended);
  return new Response(readable, answer);
};
const home: Home = {
  passOn: (c) => {
    const headers = new Headers(c.req.raw.headers);
    headers.set("x-request-id", c.get("requestId"));
    return exports.default.fetch(new Request(c.req.raw, { headers }));
  },
  openSocket: async (_c, tenant, opening) => {
    const { answer, socket } = newClient();
    const opened = await (await socketsOf(objectPath("TENANT", tenant), knock)).open(opening, () => socket);
    return opened.ok ? ok(answer) : opened;
  },
  isWhole: () => true,
  disk: () => ({ freeBytes: ROOM, totalBytes: ROOM, state: "ok" }),
  othersFirst: async () => {},
  longStep: () => Promise.resolve(),
  arrivedBody: () => null,
  digest: (text) => createHash("sha256").update(text).digest("hex"),
  addressOf: () => "127.0.0.1",
  onAnswerEnd: (c, then) => void ends.set(c.req.raw, then),
  expectWrite: () => () => undefined,
  takeTurn: (tenant, work) => turns.take(tenant, work),
};

const nodeEnv = {
  ...(env as unknown as Env),
  TENANT: objectNamespace("TENANT", () => objectProcess),
  RELAY: objectNamespace("RELAY", () => objectProcess),
  RUNNER: objectNamespace("RUNNER", () => objectProcess),
  DB: historyDatabase(historyConnections),
  HOME: home,
} as unknown as Env;

export const edgeFetch = async (url: string, init: RequestInit): Promise<Response> => {
  if (env.TEST_HOME !== "node") return exports.default.fetch(url, init);
  const request = new Request(url, init);
  // As it arrives over HTTP.
  if (typeof init.body === "string")
    request.headers.set("content-length", `${new TextEncoder().encode(init.body).length}`);
  return watched(request, await app.fetch(request, nodeEnv, createExecutionContext()));
};
