// The live connection: one WebSocket, messages numbered by `seq`. After a gap, an error or silence it reconnects, and
// every connection begins with a snapshot, so gaps are never patched. The page always shows whether it is live.

import { signal } from "@preact/signals";
import type { NumberedLiveMessage } from "../../contract/live.ts";
import { closeCodes } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { apply, clearBoard, learning, workers } from "./board.ts";
import { now, serverNow, setServerTime } from "./clock.ts";
import { openLive, takeFirstSocket } from "./first-socket.ts";

type Connection = "connecting" | "live" | "lost";

export const connection = signal<Connection>("connecting");
/** Grows with each reconnection, so that reads are repeated. */
export const recoveries = signal(0);
/** The instant for which the board is accurate. */
export const heardAt = signal<number | null>(null);

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;
const PING_EVERY_MS = 15_000;
const ANSWER_WITHIN_MS = 30_000;
/** A hidden page's timers come once a minute. After more than this the machine slept, and the connection is dead. */
const ASLEEP_MS = 120_000;
/** By more than this the machine's clock was set, and what the server's time was told by is over. */
const CLOCK_SET_MS = 1_000;
const MOST_LOOKED_AT = 200;

let socket: WebSocket | null = null;
/** Connections opened for this user. */
let tries = 0;
let lastSeq: number | null = null;
let retryMs = FIRST_RETRY_MS;
let retryTimer: ReturnType<typeof setTimeout> | undefined;
let pingTimer: ReturnType<typeof setInterval> | undefined;
let queue: NumberedLiveMessage[] = [];
let isFlushDue = false;
/** Since when an answer is awaited; null if none is. */
let awaitedSince: number | null = null;
let lookedAt = 0;
/** When the connection was opened; and the same as `aheadMs`. */
let openedAt = 0;
let openedAheadMs = 0;

/** How far this machine's clock is ahead of one that nobody sets. */
const aheadMs = (): number => Date.now() - performance.now();

const flush = (): void => {
  isFlushDue = false;
  const messages = queue;
  queue = [];
  if (messages.length === 0) return;
  apply(messages);
};

/** A hidden page gets no animation frames, so updates are applied at once; nothing is drawn then. */
const scheduleFlush = (): void => {
  if (document.hidden) flush();
  else if (!isFlushDue) {
    isFlushDue = true;
    requestAnimationFrame(flush);
  }
};

/** False if a message is missing. */
const accept = (message: NumberedLiveMessage, at: number): boolean => {
  if (message.type === "snapshot") {
    setServerTime(message.server_time, openedAt, at);
    if (connection.peek() !== "live" && tries > 1) recoveries.value += 1;
    connection.value = "live";
  } else if (lastSeq === null || message.seq !== lastSeq + 1) return false;
  lastSeq = message.seq;
  queue.push(message);
  return true;
};

const receive = (text: string, at = Date.now()): void => {
  awaitedSince = null;
  heardAt.value = serverNow();
  if (text === "pong") return;
  const frame = JSON.parse(text) as NumberedLiveMessage | NumberedLiveMessage[];
  const isWhole = (Array.isArray(frame) ? frame : [frame]).every((message) => accept(message, at));
  if (isWhole) scheduleFlush();
  else reconnect();
};

const stopSocket = (): void => {
  clearInterval(pingTimer);
  clearTimeout(retryTimer);
  const old = socket;
  socket = null;
  lastSeq = null;
  queue = [];
  if (old === null) return;
  old.onopen = old.onmessage = old.onclose = old.onerror = null;
  old.close();
};

const lose = (): void => {
  stopSocket();
  connection.value = "lost";
  retryTimer = setTimeout(open, retryMs * (0.75 + Math.random() / 2));
  retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
};

/**
 * Workers ping and fall silent while the tenant's object sleeps, and no message reports either, so the workers are
 * polled.
 */
const lookAtWorkers = async (): Promise<void> => {
  if (document.hidden || workers.peek().size === 0) return;
  await learning(api.workers.list({ limit: MOST_LOOKED_AT }));
};

/** Timers of a hidden page come late, so silence is measured from a ping, not from the last message. */
const keepAlive = (): void => {
  const hasSlept = Date.now() - lookedAt > ASLEEP_MS;
  const isClockSet = Math.abs(aheadMs() - openedAheadMs) > CLOCK_SET_MS;
  lookedAt = Date.now();
  if (hasSlept || isClockSet) reconnect();
  else if (awaitedSince !== null && Date.now() - awaitedSince > ANSWER_WITHIN_MS) lose();
  else if (socket?.readyState === WebSocket.OPEN) {
    // One that breaks off sooner is opened more and more slowly, because each reads the whole page again.
    retryMs = FIRST_RETRY_MS;
    awaitedSince ??= Date.now();
    socket.send("ping");
    lookAtWorkers().catch(() => undefined);
  }
};

const open = (): void => {
  stopSocket();
  tries += 1;
  awaitedSince = Date.now();
  lookedAt = awaitedSince;
  openedAheadMs = aheadMs();
  const first = takeFirstSocket();
  openedAt = first?.openedAt ?? awaitedSince;
  const opened = first?.socket ?? openLive();
  socket = opened;
  opened.onmessage = ({ data }) => receive(String(data));
  opened.onclose = ({ code }) => {
    // Browsers do not report a refused handshake, so the session is checked.
    if (code === closeCodes.keyEnded || connection.peek() !== "live") api.workers.present().catch(() => undefined);
    lose();
  };
  pingTimer = setInterval(keepAlive, PING_EVERY_MS);
  for (const { text, at } of first?.heard ?? []) if (socket === opened) receive(text, at);
};

export const reconnect = (): void => {
  connection.value = "connecting";
  open();
};

const onOnline = (): void => {
  if (connection.peek() !== "live") reconnect();
};
const onOffline = (): void => lose();
const onVisible = (): void => {
  if (document.hidden) return;
  now.value = serverNow();
  if (connection.peek() === "lost") reconnect();
};

export const connectLive = (): (() => void) => {
  connection.value = "connecting";
  heardAt.value = null;
  tries = 0;
  retryMs = FIRST_RETRY_MS;
  open();
  addEventListener("online", onOnline);
  addEventListener("offline", onOffline);
  document.addEventListener("visibilitychange", onVisible);
  return () => {
    removeEventListener("online", onOnline);
    removeEventListener("offline", onOffline);
    document.removeEventListener("visibilitychange", onVisible);
    stopSocket();
    clearBoard();
  };
};
