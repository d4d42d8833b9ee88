// The WebSocket to the coordinator. Messages of one tick go in one frame. If nothing arrives after a ping, the
// connection is dead, whatever TCP reports.

import { WebSocket } from "ws";
import { type CoordinatorMessage, coordinatorMessage, MAX_FRAME_MESSAGES } from "../../contract/socket.ts";
import { isObject, parseJson } from "../../contract/text/json-object.ts";
import { LONG_JSON_CHARS } from "../../contract/words/json-bounds.ts";
import { closeCodes } from "../../contract/words/values.ts";
import { checkAddress } from "./check-address.ts";
import { coordinatorSocket } from "./coordinator-socket.ts";
import {
  type Ending,
  explainRefusal,
  isRefusal,
  type Opened,
  problemDetail,
  type Session,
  type SessionHost,
  type SessionSettings,
  type WorkerMessage,
} from "./session.ts";

/** For the body of a refusal. */
const REFUSAL_WITHIN_MS = 10_000;
const MAX_RECEIVED_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;
const NORMAL_CLOSURE = 1000;
const CLOSED_WITHOUT_WORDS = 1006;
const CLOSE_TIMEOUT_MS = 2_000;
/** Of a frame with several messages: together they have too much of nothing. A larger message travels alone. */
const MAX_SHARED_FRAME_BYTES = LONG_JSON_CHARS;
/**
 * A name that another key's worker has for the moment, and overload: over HTTP it would be the same. Any other answer
 * may be a proxy without WebSockets.
 */
const PASSES: ReadonlySet<number> = new Set([409, 429, 503]);

/** In the words of `ws`. */
const HANDSHAKE_IS_LATE = "Opening handshake has timed out";

export const openSocketSession = (settings: SessionSettings, host: SessionHost): Promise<Opened> => {
  const socket = coordinatorSocket(settings, "connect", MAX_RECEIVED_BYTES);
  return new Promise((resolve) => {
    socket.once("open", () => resolve({ ok: true, session: sessionOver(socket, settings, host) }));
    socket.once("unexpected-response", (request, response) => {
      readStart(response, (body) => {
        request.destroy();
        const status = response.statusCode ?? 0;
        const detail = problemDetail(body);
        if (isRefusal(status)) {
          const reason = explainRefusal(status, detail, settings, response.headers.location);
          return resolve({ ok: false, kind: "refused", reason, isForeign: detail === "" });
        }
        if (PASSES.has(status)) resolve({ ok: false, kind: "unreachable", reason: detail || `HTTP ${status}` });
        else resolve({ ok: false, kind: "no_socket", reason: `no WebSocket: HTTP ${status} ${detail}`.trim() });
      });
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      const reason = error.message || (error.code ?? "the connection failed");
      if (error.code === undefined && reason !== HANDSHAKE_IS_LATE) resolve({ ok: false, kind: "no_socket", reason });
      else if (error.code === "ECONNRESET") resolve({ ok: false, kind: "cut", reason: `no WebSocket: ${reason}` });
      else resolve(unanswered(settings, reason));
    });
  });
};

/**
 * A coordinator that stands still, or is not there, does not answer plain HTTP either. If plain HTTP is answered, a
 * proxy on the way may let only that through.
 */
const unanswered = async ({ apiUrl }: SessionSettings, reason: string): Promise<Opened> => {
  const checked = await checkAddress(apiUrl);
  if (checked.kind === "unreachable") return { ok: false, ...checked };
  return { ok: false, kind: "cut", reason: `no WebSocket: ${reason}` };
};

const sessionOver = (socket: WebSocket, settings: SessionSettings, host: SessionHost): Session => {
  let queue: WorkerMessage[] = [];
  let pongDue: NodeJS.Timeout | undefined;
  let isDead = false;
  const heard = () => {
    clearTimeout(pongDue);
    pongDue = undefined;
  };
  const giveUp = () => {
    isDead = true;
    socket.terminate();
  };
  // Timers run before I/O: frames that arrived while this process was busy are read before the connection is given up.
  const listenOnceMore = () => setImmediate(() => pongDue !== undefined && giveUp());
  const flush = () => {
    const messages = queue;
    queue = [];
    if (socket.readyState !== WebSocket.OPEN) return;
    for (const frame of frames(messages)) socket.send(frame);
  };
  socket.on("message", (data, isBinary) => {
    heard();
    if (!isBinary) for (const message of parseFrame(String(data))) host.receive(message);
  });
  const ended = new Promise<Ending>((resolve) => {
    socket.once("close", (code, reason) => {
      heard();
      if (isDead)
        resolve({ kind: "lost", reason: "the connection is dead: a ping was not answered", wasReached: true });
      else resolve(endingOf(code, String(reason), settings));
    });
  });
  return {
    kind: "socket",
    ended,
    send: (message) => {
      if (queue.length === 0) setImmediate(flush);
      queue.push(message);
    },
    ping: (answerWithinMs) => {
      if (socket.readyState !== WebSocket.OPEN) return;
      socket.send("ping");
      pongDue ??= setTimeout(listenOnceMore, answerWithinMs);
    },
    slotsChanged: () => {},
    close: () => {
      flush();
      socket.close(NORMAL_CLOSURE);
      setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS).unref();
    },
  };
};

const endingOf = (code: number, reason: string, settings: SessionSettings): Ending => {
  if (code === closeCodes.keyEnded)
    return { kind: "refused", reason: explainRefusal(401, reason, settings), isForeign: false };
  if (code === closeCodes.replaced) {
    const said = `another worker process connected as "${settings.instance}"`;
    return { kind: "refused", reason: `${said}: give each process its own --instance`, isForeign: false };
  }
  const told = `the connection closed (${code}${reason === "" ? "" : ` ${reason}`})`;
  return { kind: "lost", reason: told, wasReached: code === CLOSED_WITHOUT_WORDS };
};

/** Messages as frames, in order: one message as it is, several as an array, each within the contract's limits. */
export const frames = (messages: readonly WorkerMessage[]): string[] => {
  const out: string[] = [];
  let batch: string[] = [];
  let bytes = 0;
  const finish = () => {
    if (batch.length > 0) out.push(batch.length === 1 ? String(batch[0]) : `[${batch.join(",")}]`);
    batch = [];
    bytes = 0;
  };
  for (const message of messages) {
    const text = JSON.stringify(message);
    const size = Buffer.byteLength(text) + 2;
    if (batch.length === MAX_FRAME_MESSAGES || bytes + size > MAX_SHARED_FRAME_BYTES) finish();
    batch.push(text);
    bytes += size;
  }
  finish();
  return out;
};

/**
 * Unreadable messages are skipped one by one: a newer coordinator may send kinds that this worker does not know. An
 * older one says less of the worker itself, of which nothing is needed.
 */
const parseFrame = (text: string): CoordinatorMessage[] => {
  if (text === "pong") return [];
  const frame = parseJson(text);
  return (Array.isArray(frame) ? frame : [frame]).flatMap((message) => {
    const parsed = coordinatorMessage.safeParse(isObject(message) ? { ...message, worker: undefined } : message);
    return parsed.success ? [parsed.data] : [];
  });
};

const readStart = (response: NodeJS.ReadableStream, done: (body: string) => void): void => {
  let body = "";
  const finish = () => {
    clearTimeout(timer);
    done(body);
  };
  const timer = setTimeout(finish, REFUSAL_WITHIN_MS);
  response.on("data", (chunk) => {
    if (body.length < MAX_REFUSAL_BYTES) body += String(chunk);
  });
  response.once("end", finish);
  response.once("error", finish);
};
