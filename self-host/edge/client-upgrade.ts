// The WebSockets of clients end here: handshake, frames, compression. Invariant: no client makes this process keep more
// than a bound for it, whether it sends too much, reads too little, or does not answer a close.

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type ServerOptions, type WebSocket, WebSocketServer } from "ws";
import { MAX_FRAME_BYTES } from "../../contract/socket.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { Refused } from "../../src/http/refused.ts";
import { type ClientSocket, MAX_PONGS, PINGS_TOLD_WITHIN_MS } from "./client-sockets.ts";
import type { FramePace } from "./frames/frame-paces.ts";
import type { Reading, SocketFrames } from "./frames/held-frames.ts";
import { type Exchange, hasBody, LAST_FRAME_MS } from "./pass-on.ts";

/** The object counts characters, and says what is too long; nothing longer is read. */
const MAX_BYTES_A_CHAR = 3;
/** A viewer only pings. */
const MAX_VIEWER_BYTES = 4 * 1024;
/** A client that leaves more than this unread is cut off. It holds a burst of a hundred of the largest jobs. */
export const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
const REQUEST_ID = "x-request-id";
/** Of RFC 6455. */
const VERSION = "13";

const noHandshake = (why: string): Refused => new Refused(invalid("", `this is no WebSocket handshake: ${why}`));

/** What completes a valid handshake. */
const completions = new WeakMap<IncomingMessage, () => void>();

const webSockets = (
  maxPayload: number,
  perMessageDeflate: ServerOptions["perMessageDeflate"] & {},
): WebSocketServer => {
  const options: ServerOptions & { closeTimeout: number } = {
    noServer: true,
    clientTracking: false,
    autoPong: false,
    maxPayload,
    closeTimeout: LAST_FRAME_MS,
    // The server supports no subprotocol, so it chooses none.
    handleProtocols: () => false,
    perMessageDeflate,
    // Called once the handshake is known to be valid.
    verifyClient: ({ req }: { req: IncomingMessage }, done: (isAccepted: boolean) => void) =>
      void completions.set(req, () => done(true)),
  };
  const server = new WebSocketServer(options);
  server.on("headers", (headers, request) => headers.push(`${REQUEST_ID}: ${request.headers[REQUEST_ID]}`));
  server.on("wsClientError", (error) => {
    throw noHandshake(error.message);
  });
  return server;
};

/** A viewer's frames are alike, and a tenth as long compressed. A worker's frames are short, and workers are many. */
const forViewers = webSockets(MAX_VIEWER_BYTES, { zlibDeflateOptions: { level: 3, memLevel: 7 } });
const forWorkers = webSockets(MAX_FRAME_BYTES * MAX_BYTES_A_CHAR, false);

/** What counts a socket's frames: those that this process holds, and how many come. */
interface FrameCounts {
  readonly hold: (reading: Reading) => SocketFrames;
  readonly pace: () => FramePace;
}

/**
 * Throws a refusal unless the handshake is valid. The function that it returns completes the handshake; null if the
 * client has left.
 */
export const readHandshake = (
  exchange: Exchange,
  requestId: string,
  isViewer: boolean,
): ((counts: FrameCounts) => ClientSocket | null) => {
  const { incoming, outgoing, head = Buffer.alloc(0) } = exchange;
  const socket = incoming.socket as Socket;
  const server = isViewer ? forViewers : forWorkers;
  if (hasBody(incoming)) throw noHandshake("it has a body");
  // `ws` takes version 8, too, which workerd does not.
  if (incoming.headers["sec-websocket-version"] !== VERSION) throw noHandshake("Sec-WebSocket-Version must be 13");
  incoming.headers[REQUEST_ID] = requestId;
  const upgraded: WebSocket[] = [];
  server.handleUpgrade(incoming, socket, head, (webSocket) => upgraded.push(webSocket));
  return (counts) => {
    completions.get(incoming)?.();
    const [webSocket] = upgraded;
    if (webSocket === undefined) return null;
    outgoing.detachSocket(socket);
    return clientSocket(webSocket, socket, counts);
  };
};

const clientSocket = (socket: WebSocket, connection: Socket, counts: FrameCounts): ClientSocket => {
  const reading = pausable(socket);
  const frames = counts.hold({ ...reading("held"), cut: () => socket.terminate() });
  const pace = counts.pace();
  const paced = reading("paced");
  // Before `ws` reads the bytes, and with them may be told what is whole.
  connection.prependListener("data", (bytes: Buffer) => {
    const waitMs = pace.take(frames.take(bytes));
    if (waitMs === 0) return;
    paced.pause();
    setTimeout(paced.resume, waitMs).unref();
  });
  connection.once("close", () => {
    frames.end();
    pace.end();
  });
  const mayPong = pongs();
  const cutIfSlow = (): void => {
    if (socket.bufferedAmount > MAX_UNREAD_BYTES) socket.terminate();
  };
  return {
    listen: (onText, onClose) => {
      socket.on("message", (data, isBinary) => onText(isBinary ? null : String(data)));
      socket.on("close", (code, reason) => onClose(code, String(reason)));
      socket.on("ping", (data) => {
        if (mayPong()) socket.pong(data);
        cutIfSlow();
      });
      // A close follows.
      socket.on("error", () => undefined);
    },
    send: (text) => {
      socket.send(text, { binary: false });
      cutIfSlow();
    },
    close: (code, reason) => socket.close(code, reason),
    cut: () => socket.terminate(),
    ...reading("behind"),
    told: () => frames.told(),
  };
};

/** Of the pings of a client that sends very many, few are answered. */
const pongs = (): (() => boolean) => {
  let countedAt = 0;
  let count = 0;
  return () => {
    const nowAt = performance.now();
    if (nowAt - countedAt > PINGS_TOLD_WITHIN_MS) {
      countedAt = nowAt;
      count = 0;
    }
    count += 1;
    return count <= MAX_PONGS;
  };
};

/** A socket is read while nobody wants it to pause. */
const pausable = (socket: WebSocket) => {
  const reasons = new Set<string>();
  return (reason: string): Pick<Reading, "pause" | "resume"> => ({
    pause: () => {
      reasons.add(reason);
      socket.pause();
    },
    resume: () => {
      reasons.delete(reason);
      if (reasons.size === 0) socket.resume();
    },
  });
};
