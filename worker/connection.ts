// Keeps the worker connected to the coordinator: by WebSocket, or by HTTP if that is impossible; reconnects after a
// back-off. Returns when it is stopped, or with the reason why the coordinator will never accept this worker.

import { setTimeout as delay } from "node:timers/promises";
import type { Loop } from "./loop.ts";
import { backoffMs } from "./session/backoff.ts";
import type { CoordinatorMessage, Ending, Opened, Session, SessionHost } from "./session/session.ts";

/** A session that lasted this long was good: reconnect soon. */
const GOOD_SESSION_MS = 10_000;
/** WebSockets in a row that were cut, or answered nothing: what lies between may let only plain HTTP through. */
const MAX_MUTE_SOCKETS = 2;

type ConnectionOptions = {
  loop: Pick<Loop, "attach" | "detach" | "receive" | "freeSlots">;
  openSocket: (host: SessionHost) => Promise<Opened>;
  openHttp: (host: SessionHost) => Promise<Opened>;
  log: (line: string) => void;
  /** Abort it to stop: the session sends what is queued and closes. */
  stop: AbortSignal;
  random?: () => number;
  nowMs?: () => number;
};

/** @returns the reason of a refusal, or null after a stop. */
export const keepConnected = async (options: ConnectionOptions): Promise<string | null> => {
  const { stop, log, random = Math.random, nowMs = () => performance.now() } = options;
  let failures = 0;
  let wasConnected = false;
  let muteSockets = 0;
  const tell = tellingChanges(log);
  while (!stop.aborted) {
    const openedAt = nowMs();
    const isOverHttp = muteSockets === MAX_MUTE_SOCKETS;
    let isMute = true;
    const ending = await oneSession(options, tell, isOverHttp, ({ type }) => {
      wasConnected = true;
      // The coordinator greets by itself, also where nothing of the worker's arrives.
      if (type === "ack") isMute = false;
    });
    if (isOverHttp) muteSockets = MAX_MUTE_SOCKETS - 1;
    else if (!isMute) muteSockets = 0;
    else if (ending.kind === "lost" && ending.wasReached === true) muteSockets += 1;
    if (ending.kind === "refused" && !(ending.isForeign && wasConnected)) return ending.reason;
    if (stop.aborted) break;
    failures = nowMs() - openedAt >= GOOD_SESSION_MS ? 0 : failures + 1;
    tell("connection", `not connected: ${ending.reason}; trying again`);
    await delay(backoffMs(failures, random()), undefined, { signal: stop }).catch(() => {});
  }
  return null;
};

const oneSession = async (
  { loop, openSocket, openHttp, stop }: ConnectionOptions,
  tell: (about: string, line: string) => void,
  isOverHttp: boolean,
  onReceived: (message: CoordinatorMessage) => void,
): Promise<Ending> => {
  // An abandoned session may still deliver frames; they must be ignored.
  let isOver = false;
  let kind: Session["kind"] = "socket";
  const host: SessionHost = {
    receive: (message) => {
      if (isOver) return;
      onReceived(message);
      tell("connection", `connected over ${kind === "socket" ? "WebSocket" : "HTTP"}`);
      loop.receive(message);
    },
    freeSlots: () => loop.freeSlots(),
  };
  const fallBack = (reason: string): Promise<Opened> => {
    tell("fallback", `${reason}; falling back to HTTP`);
    kind = "http";
    return openHttp(host);
  };
  const open = async (): Promise<Opened> => {
    if (isOverHttp) return fallBack("WebSockets are cut, or nothing comes through them");
    const opened = await openSocket(host);
    if (opened.ok || opened.kind !== "no_socket" || stop.aborted) return opened;
    return fallBack(opened.reason);
  };
  // An address that swallows packets is given up only after seconds, which a supervisor may not wait.
  const opened = await unlessStopped(open(), stop);
  if (!opened.ok) {
    if (opened.kind === "refused") return opened;
    return { kind: "lost", reason: opened.reason, wasReached: opened.kind === "cut" };
  }
  const { session } = opened;
  const close = () => session.close();
  stop.addEventListener("abort", close, { once: true });
  if (stop.aborted) close();
  loop.attach(session);
  try {
    return await session.ended;
  } finally {
    isOver = true;
    stop.removeEventListener("abort", close);
    loop.detach();
  }
};

const unlessStopped = async (opening: Promise<Opened>, stop: AbortSignal): Promise<Opened> => {
  const { promise, resolve } = Promise.withResolvers<Opened>();
  const onAbort = () => {
    resolve({ ok: false, kind: "unreachable", reason: "stopped" });
    // What opens later has nobody else to close it, and would keep the process alive.
    opening.then(
      (late) => late.ok && late.session.close(),
      () => {},
    );
  };
  stop.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([opening, promise]);
  } finally {
    stop.removeEventListener("abort", onAbort);
  }
};

/** The same trouble is logged once, however long it lasts. */
const tellingChanges = (log: (line: string) => void): ((about: string, line: string) => void) => {
  const last = new Map<string, string>();
  return (about, line) => {
    if (last.get(about) !== line) log(line);
    last.set(about, line);
  };
};
