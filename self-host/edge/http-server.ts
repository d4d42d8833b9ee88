// The HTTP server of the edge in Node: hono's adapter between sockets and the app, and what a server at the edge of a
// network must do itself. Everything it refuses is a problem document, never a 5xx.

import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  ServerResponse,
  STATUS_CODES,
} from "node:http";
import { Server as ListeningServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { getRequestListener } from "@hono/node-server";
import { presentRefusal } from "../../contract/refusal.ts";
import { invalid, type Refusal } from "../../domain/words/refusal.ts";
import { malformedAddress, problemResponse } from "../../src/http/refused.ts";
import { LateBodies } from "./late-body.ts";
import { type Exchange, keepMark } from "./pass-on.ts";
import { beginFewAtOnce } from "./turns/arrivals.ts";
import { Departures } from "./turns/departures.ts";
import { Company } from "./turns/fair-turns.ts";
import { Pipelines } from "./turns/pipelines.ts";
import { ChunkTurns, gatherSmallChunks } from "./turns/small-chunks.ts";
import { TickTurns } from "./turns/tick-turns.ts";
import { turnOwnerOf, turnSizeOf } from "./turns/turn-owner.ts";
import { cutFurthestBehind } from "./unread.ts";

const MAX_HEADER_BYTES = 64 * 1024;
/** A client without complete headers by then is cut off; a body has its own deadline where it is read. */
const HEADERS_WITHIN_MS = 15_000;
/** Longer than the keep-alive of proxies in front, so that none sends into a closing connection. */
const KEEP_ALIVE_MS = 75_000;
/** After so much silence the system asks whether a client is there: one that lost its power or network never says. */
const PROBE_AFTER_MS = 60_000;
const CLOSE_POLL_MS = 5;
/** How long a refused client may go on sending. */
const LAST_BYTES_MS = 1_000;
/** How long a connection without a request stays open when the server ends: a request may be on its way. */
const LAST_REQUESTS_MS = 250;
/** How long an answer that was given up may take to say so. */
const LAST_WORDS_MS = 500;
const CHECK_EVERY_MS = 5_000;
/**
 * Requests of one key that begin in one turn of the event loop, fewer if they have long bodies: alone, as many as go well
 * in one group of calls; beside others, one or two milliseconds of work. Callers without a known key are beside others.
 */
const BEGUN_A_TURN = { alone: 32, besideOthers: 8 };

type Fetch = (request: Request, exchange: Exchange) => Promise<Response> | Response;

/** What the parser refuses, by Node's error code. */
const PARSER_REFUSALS: Record<string, Refusal> = {
  HPE_HEADER_OVERFLOW: { code: "headers_too_large", limitBytes: MAX_HEADER_BYTES },
  ERR_HTTP_REQUEST_TIMEOUT: { code: "request_timeout", afterMs: HEADERS_WITHIN_MS },
};
const MALFORMED = invalid("", "this is not an HTTP/1.1 request");
/** Not a proxy: there is nothing to connect to. */
const NO_CONNECT: Refusal = {
  code: "method_not_allowed",
  allow: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
};

const rawProblem = (socket: Duplex, refusal: Refusal): void => {
  const problem = presentRefusal(refusal, crypto.randomUUID());
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    "content-type: application/problem+json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${problem.instance}`,
    ...(refusal.code === "method_not_allowed" ? [`allow: ${refusal.allow.join(", ")}`] : []),
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
};

/** Of a connection that Node no longer reads as HTTP: it hears of its end only if the rest is read. */
const endSoon = (socket: Duplex): void => {
  socket.resume();
  setTimeout(() => socket.destroy(), LAST_BYTES_MS).unref();
};

const connectionsOf = new WeakMap<Server, Set<Socket>>();

/**
 * Accepts no connection, and answers what still comes on those that are open, for a moment. Lets current answers finish
 * briefly, ends the rest with `giveUp`, then closes every connection, including sockets.
 */
export const closeServer = async (server: Server, graceMs: number, giveUp?: () => void): Promise<void> => {
  // Node's HTTP server closes idle connections at once, and a request that was just sent breaks off.
  const closed = new Promise<void>((resolve) => ListeningServer.prototype.close.call(server, () => resolve()));
  await Promise.race([closed, pause(Math.min(graceMs, LAST_REQUESTS_MS))]);
  server.close();
  await answersEnd(server, graceMs);
  if (giveUp !== undefined) {
    giveUp();
    await answersEnd(server, LAST_WORDS_MS);
  }
  for (const socket of connectionsOf.get(server) ?? []) socket.destroy();
  await closed;
};

const answersEnd = async (server: Server, withinMs: number): Promise<void> => {
  const giveUpAt = performance.now() + withinMs;
  while ((answersUnderWay.get(server) ?? 0) > 0 && performance.now() < giveUpAt) await pause(CLOSE_POLL_MS);
};

const answersUnderWay = new WeakMap<Server, number>();

const countAnswer = (server: Server, outgoing: ServerResponse): void => {
  answersUnderWay.set(server, (answersUnderWay.get(server) ?? 0) + 1);
  outgoing.once("close", () => answersUnderWay.set(server, (answersUnderWay.get(server) ?? 1) - 1));
};

/** HTTP/1.0 knows no Host header, and a proxy's health check (HAProxy's) sends none; what is passed on needs one. */
const nameHost = ({ headers, rawHeaders }: IncomingMessage): void => {
  headers.host = "localhost";
  rawHeaders.push("Host", "localhost");
};

/** Where there is a socket. Elsewhere a handshake is a plain request, whose answer counts until it has ended. */
const SOCKET = /^\/(live|api\/workers\/[^/?]+\/(connect|stream))(\?|$)/;

const isWebSocket = ({ headers, url = "" }: IncomingMessage): boolean =>
  headers.upgrade?.toLowerCase() === "websocket" && SOCKET.test(url);

const OPTIONS = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_WITHIN_MS,
  requestTimeout: 0,
  keepAliveTimeout: KEEP_ALIVE_MS,
  connectionsCheckingInterval: CHECK_EVERY_MS,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: PROBE_AFTER_MS,
  // The listener refuses a request without a Host header, as a problem with an id.
  requireHostHeader: false,
} as const satisfies ServerOptions;

type AddressOf = (incoming: IncomingMessage) => string;
/** `head`: what came after the headers of a request to upgrade. */
type Answer = (incoming: IncomingMessage, outgoing: ServerResponse, head?: Buffer) => void;

const answerWith = (fetch: Fetch): Answer => {
  const heads = new WeakMap<IncomingMessage, Buffer>();
  const listener = getRequestListener(
    (request, bindings) => {
      const exchange = bindings as Exchange;
      const head = heads.get(exchange.incoming);
      const answered = fetch(request, head === undefined ? exchange : { ...exchange, head });
      return request.method === "HEAD" ? Promise.resolve(answered).then(keepMark) : answered;
    },
    // Only malformed requests get here: the app answers its own errors.
    { errorHandler: () => problemResponse(malformedAddress, crypto.randomUUID()) },
  );
  return (incoming, outgoing, head) => {
    if (head !== undefined) heads.set(incoming, head);
    void listener(incoming, outgoing);
  };
};

/** A request begins when it is its owner's turn. */
const beginInTurns = (
  server: Server,
  answer: Answer,
  addressOf: AddressOf,
  departures: Departures,
  pipelines: Pipelines,
): void => {
  const keys = new Company();
  const turns = new TickTurns((name) => (keys.isAlone(name) ? BEGUN_A_TURN.alone : BEGUN_A_TURN.besideOthers));
  const begin = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    if (!outgoing.destroyed) answer(incoming, outgoing);
  };
  const takeTurn = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    countAnswer(server, outgoing);
    const owner = turnOwnerOf(incoming, () => addressOf(incoming));
    if (owner.isKey) keys.note(owner.name);
    departures.note(incoming.socket, owner.name);
    const turn = turns.take(owner.name, turnSizeOf(incoming));
    if (turn === null) begin(incoming, outgoing);
    else void turn.then(() => begin(incoming, outgoing));
  };
  const chunkTurns = new ChunkTurns();
  const lateBodies = new LateBodies();
  const nameOf = (incoming: IncomingMessage): string => turnOwnerOf(incoming, () => addressOf(incoming)).name;
  server.on("request", (incoming, outgoing) => {
    const { socket } = incoming;
    // The server ends: what its client asks next must find no connection, and not one that breaks.
    if (!server.listening) outgoing.shouldKeepAlive = false;
    gatherSmallChunks(incoming, {
      crowded: () => departures.readLong(socket),
      wait: (chunks, goOn) => chunkTurns.wait(socket, nameOf(incoming), chunks, goOn),
    });
    lateBodies.expect(incoming, outgoing);
    if (incoming.httpVersion === "1.0" && incoming.headers.host === undefined) nameHost(incoming);
    pipelines.enter(incoming, outgoing, () => takeTurn(incoming, outgoing));
  });
};

const keepConnections = (server: Server, departures: Departures): void => {
  const connections = new Set<Socket>();
  connectionsOf.set(server, connections);
  server.once("close", cutFurthestBehind(connections));
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => {
      connections.delete(socket);
      departures.leave(socket);
    });
  });
};

const passUpgrades = (server: Server, answer: Answer, departures: Departures): void => {
  server.on("upgrade", (incoming, socket, head) => {
    socket.on("error", () => socket.destroy());
    departures.leave(incoming.socket);
    const outgoing = new ServerResponse(incoming);
    outgoing.shouldKeepAlive = false;
    outgoing.assignSocket(socket as Parameters<ServerResponse["assignSocket"]>[0]);
    // The handshake is refused.
    outgoing.once("finish", () => {
      socket.end();
      endSoon(socket);
    });
    answer(incoming, outgoing, head);
  });
};

const refuseMalformed = (server: Server): void => {
  const refused = new WeakSet<Duplex>();
  // An unknown expectation may be ignored (RFC 9110, 10.1.1); Node's own 417 is no problem document.
  server.on("checkExpectation", (incoming, outgoing) => server.emit("request", incoming, outgoing));
  server.on("connect", (_incoming, socket) => {
    socket.on("error", () => socket.destroy());
    rawProblem(socket, NO_CONNECT);
    endSoon(socket);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // The rest of a refused request is discarded: if it were cut off while sending, the client would not read the
    // answer.
    if (refused.has(socket)) return;
    refused.add(socket);
    setTimeout(() => socket.destroy(), LAST_BYTES_MS).unref();
    if (socket.writable && error.code !== "ECONNRESET")
      rawProblem(socket, PARSER_REFUSALS[error.code ?? ""] ?? MALFORMED);
    else socket.destroy();
  });
};

/** `addressOf`: of the client of a request. */
export const edgeServer = (
  fetch: Fetch,
  maxConnections: number,
  addressOf: AddressOf = ({ socket }) => socket.remoteAddress ?? "",
): Server => {
  const pipelines = new Pipelines();
  // Other protocols are not supported; the request is answered as if none had been offered (RFC 9110, 7.8). So is one behind
  // answers that have not left: they need the connection.
  const shouldUpgradeCallback = (incoming: IncomingMessage): boolean =>
    isWebSocket(incoming) && !pipelines.isBusy(incoming.socket);
  const server = createServer({ ...OPTIONS, shouldUpgradeCallback } as ServerOptions);
  const answer = answerWith(fetch);
  const departures = new Departures();
  server.maxConnections = maxConnections;
  beginInTurns(server, answer, addressOf, departures, pipelines);
  beginFewAtOnce(server);
  keepConnections(server, departures);
  passUpgrades(server, answer, departures);
  refuseMalformed(server);
  return server;
};
