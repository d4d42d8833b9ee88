// Passes requests to the app in workerd over a Unix socket: unchanged, both bodies streaming at the pace of the slower
// side, WebSockets as raw bytes. Nothing is sent twice. If the client disconnects, the request ends there at once; with a
// file in its middle its body does, so that the app deletes what has come.

import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { pipeline, type Transform } from "node:stream";
import { INTERNAL_SERVER_ERROR } from "../../contract/words/http-status.ts";
import { MIB } from "../../domain/words/size.ts";
import type { AppContext } from "../../src/http/auth.ts";
import type { FileRoom } from "./file-room.ts";
import { CloseWatch } from "./frames/closing-frame.ts";

/** Node's own, taken before the adapter replaces it: the adapter sends nothing for a response with this mark. */
const { Response: PlainResponse } = globalThis;
const ALREADY_SENT = "x-hono-already-sent";
/** How long a client whose connection we end may take to send its own close frame. */
export const LAST_FRAME_MS = 2_000;
/** How long the app may take to delete what has come of a file whose client left. */
const DELETED_WITHIN_MS = 5_000;
/** How long an answer is read that came before its connection was closed. */
const READ_FOR_MS = 100;

/**
 * Headers of one connection only (RFC 9110, 7.6.1); those that frame the body stay, because Node reads and writes them.
 */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "upgrade",
  "te",
  "expect",
  "x-request-id",
  // Compressed, a thousand bytes can be a million where they are read, which no pace of bytes bounds.
  "sec-websocket-extensions",
]);

const UPGRADE = ["connection", "upgrade", "upgrade", "websocket"];

export interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** The bytes that followed the head of an upgrade. */
  readonly head?: Buffer;
}

/** The answer to a request whose client has its answer, or its connection, already. */
export const alreadySent = (): Response => new PlainResponse(null, { headers: { [ALREADY_SENT]: "true" } });

/** For `HEAD` hono copies the app's answer into the adapter's own class, and the adapter sends it in spite of the mark. */
export const keepMark = (answer: Response): Response => (answer.headers.has(ALREADY_SENT) ? alreadySent() : answer);

/** As of an object that gives no answer: what it means depends on the disk. */
const away = (): Error => Object.assign(new Error("the tenant process gives no answer"), { retryable: true });

/** The app in workerd does not know the disk, and its objects' errors on a full one name no reason. */
const isForWantOfSpace = ({ env }: AppContext, { statusCode }: IncomingMessage): boolean =>
  statusCode === INTERNAL_SERVER_ERROR && env.HOME?.disk().state === "full";

const passedHeaders = (incoming: IncomingMessage, requestId: string): string[] => {
  const { rawHeaders } = incoming;
  const passed: string[] = ["x-request-id", requestId];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (!HOP_BY_HOP.has(name.toLowerCase())) passed.push(name, rawHeaders[at + 1] ?? "");
  }
  if (hasBody(incoming)) passed.push("expect", "100-continue");
  return passed;
};

const answerHeaders = (answer: IncomingMessage): string[] => {
  const kept: string[] = [];
  for (let at = 0; at < answer.rawHeaders.length; at += 2) {
    const name = answer.rawHeaders[at] ?? "";
    if (!/^(connection|keep-alive)$/i.test(name)) kept.push(name, answer.rawHeaders[at + 1] ?? "");
  }
  return kept;
};

/** Not as a pipeline, which puts more listeners on a response than Node lets stand without a warning. */
const send = (answer: IncomingMessage, outgoing: ServerResponse): void => {
  outgoing.writeHead(answer.statusCode ?? 502, answerHeaders(answer));
  outgoing.flushHeaders();
  // What breaks off must not look whole. Who leaves is told of by the close of `outgoing`.
  answer.once("close", () => answer.complete || outgoing.destroy());
  for (const stream of [answer, outgoing]) stream.on("error", () => outgoing.destroy());
  answer.pipe(outgoing);
};

/**
 * The app may refuse a body before its end: it answers, and closes the connection. The next write then fails, which
 * would end the reading, too, and lose the answer that has arrived.
 */
const connectionTo = (socketPath: string): Socket => {
  const socket = connect(socketPath);
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    if ((error as NodeJS.ErrnoException)?.syscall !== "write") return destroy(error);
    // Node offers no other way: a stream takes in nothing while it counts as failed.
    (socket as Failing)._readableState.errored = null;
    setTimeout(destroy, READ_FOR_MS, error);
    return socket;
  };
  return socket;
};

type Failing = Socket & { _readableState: { errored: Error | null } };

const FILE = /^(multipart\/form-data|application\/octet-stream)/i;
/** Here the body is a file whatever its type says: that of a result is JSON. */
const STORES = /^\/api\/(files|jobs\/[^/]+\/(files|result))(\?|$)/;
/** What a job's worker stores is part of its report, which uses the room that is kept for it. */
const OUTPUT = /^\/api\/jobs\//;

/** Resolves when the answer has begun; throws if the process is down, or the disk has no room for the file it bears. */
export const passOn = (
  c: AppContext,
  { incoming, outgoing }: Exchange,
  socketPath: string,
  files: FileRoom,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    // A client that has disconnected needs no answer, and its close is not reported again.
    if (outgoing.destroyed) return resolve(alreadySent());
    const { method = "GET", url: path = "/" } = incoming;
    const headers = passedHeaders(incoming, c.get("requestId"));
    const upstream = request({ method, path, headers, createConnection: () => connectionTo(socketPath) });
    upstream.setNoDelay(true);
    // Once the answer has begun, its own end decides: a process that stopped reading the body may have answered in
    // full.
    let refused: Error | null = null;
    upstream.on("error", () => reject(refused ?? away()));
    upstream.on("response", (answer) => {
      if (outgoing.destroyed) {
        answer.resume();
        return resolve(alreadySent());
      }
      if (refused !== null || isForWantOfSpace(c, answer)) {
        answer.resume();
        return reject(refused ?? away());
      }
      send(answer, outgoing);
      resolve(alreadySent());
    });
    const isFile = STORES.test(path) || FILE.test(incoming.headers["content-type"] ?? "");
    /** The app sees the file break off, deletes what has come of it, and answers. */
    const breakOff = (): void => {
      incoming.unpipe(upstream);
      upstream.socket?.end();
    };
    outgoing.once("close", () => {
      if (!isFile || incoming.complete) return void upstream.destroy();
      breakOff();
      setTimeout(() => upstream.destroy(), DELETED_WITHIN_MS).unref();
    });
    const refuse = (error: Error): void => {
      refused = error;
      breakOff();
      incoming.resume();
    };
    sendBody(incoming, upstream, () => {
      if (isFile) outgoing.once("close", files.watch(incoming, refuse, OUTPUT.test(path) ? MIB : 0));
    });
  });

/**
 * The body is sent when the app asks for it. Sent at once it would meet a closed connection if the app answers after
 * the head alone (a revoked key), and the answer would be lost.
 */
const sendBody = (incoming: IncomingMessage, upstream: ClientRequest, onBegin: () => void): void => {
  if (!hasBody(incoming)) {
    upstream.end();
    return;
  }
  upstream.once("continue", () => {
    onBegin();
    pour(incoming, upstream);
  });
  upstream.flushHeaders();
};

/**
 * If the app answers before the body's end, the rest is discarded: if it were cut off while sending, the client would
 * not read the answer.
 */
const pour = (incoming: IncomingMessage, upstream: ClientRequest): void => {
  const drop = (): void => {
    incoming.unpipe(upstream);
    incoming.resume();
  };
  upstream.once("error", drop);
  upstream.once("close", drop);
  incoming.pipe(upstream);
};

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/**
 * Passes a handshake on. Only when the app in workerd switches protocols do bytes go between it and the client: on an
 * open connection a client would send requests there that this process neither counts nor limits. What the client sends
 * passes through the streams of `through`.
 */
export const tunnel = (
  c: AppContext,
  { incoming, outgoing, head }: Exchange,
  socketPath: string,
  through: () => readonly [Transform, Transform],
): Promise<Response> =>
  new Promise((resolve, reject) => {
    if (outgoing.destroyed) return resolve(alreadySent());
    const client = incoming.socket as Socket;
    const headers = [...passedHeaders(incoming, c.get("requestId")), ...UPGRADE];
    const upstream = request({ socketPath, method: "GET", path: incoming.url ?? "/", headers, agent: false });
    upstream.on("error", () => reject(away()));
    upstream.on("response", (answer) => {
      send(answer, outgoing);
      resolve(alreadySent());
    });
    upstream.on("upgrade", (answer, frames, first) => {
      outgoing.detachSocket(client);
      client.setNoDelay(true);
      frames.setNoDelay(true);
      client.write(Buffer.from(switchingHead(answer), "latin1"));
      frames.unshift(first);
      if (head !== undefined && head.length > 0) client.unshift(head);
      const [held, paced] = through();
      pipeline(client, held, paced, frames, client, () => {
        client.destroy();
        frames.destroy();
      });
      endAfterClose(frames, client);
      resolve(alreadySent());
    });
    outgoing.once("close", () => upstream.destroy());
    upstream.end();
  });

const switchingHead = ({ rawHeaders }: IncomingMessage): string => {
  const lines = ["HTTP/1.1 101 Switching Protocols"];
  for (let at = 0; at < rawHeaders.length; at += 2) lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join("\r\n")}\r\n\r\n`;
};

/** Listens behind the pipeline, which has sent the frame by then. */
const endAfterClose = (upstream: Socket, client: Socket): void => {
  const close = new CloseWatch();
  upstream.on("data", (bytes: Buffer) => {
    if (!close.hasPassed(bytes)) return;
    upstream.unpipe(client);
    client.end();
    setTimeout(() => client.destroy(), LAST_FRAME_MS).unref();
  });
};
