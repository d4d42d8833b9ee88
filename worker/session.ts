// What the loop knows of its line to the coordinator. Two kinds stand behind it, a WebSocket and plain HTTP; both speak
// the messages of the socket, so that the loop cannot tell which one it has.

import type { CoordinatorMessage, WorkerMessage } from "../contract/socket.ts";

export type { CoordinatorMessage, WorkerMessage };

export type Session = {
  kind: "socket" | "http";
  /** May be lost on the way: what must arrive is sent again until its `ack` is received. */
  send: (message: WorkerMessage) => void;
  /** Shows the coordinator that the worker lives, without waking it. A line that brings nothing within that time is dead. */
  ping: (answerWithinMs: number) => void;
  /** The number of free slots changed: the HTTP session claims by it. */
  slotsChanged: () => void;
  /** Sends what is queued, then hangs up. `ended` resolves. */
  close: () => void;
  ended: Promise<Ending>;
};

export type Ending =
  /** The line is gone, another may be had. */
  | { kind: "lost"; reason: string }
  /** The coordinator does not want this worker: trying again cannot help. */
  | { kind: "refused"; reason: string };

export type Opened =
  | { ok: true; session: Session }
  | { ok: false; kind: "refused" | "unreachable" | "no_socket"; reason: string };

export type SessionHost = {
  receive: (message: CoordinatorMessage) => void;
  freeSlots: () => number;
};

export type SessionSettings = { apiUrl: string; apiKey: string; instance: string };

/** 401 and 403 end the worker: each new try would be refused, too. A redirect means that the address is not quite right. */
export function isRefusal(status: number): boolean {
  return status === 401 || status === 403 || (status >= 300 && status < 400);
}

export function explainRefusal(status: number, detail: string, settings: SessionSettings, location?: string): string {
  const said = detail === "" ? "" : ` (${detail})`;
  if (status === 401) return `${settings.apiUrl} refused the key: set SERVICE_API_KEY to a key that is valid${said}`;
  if (status === 403)
    return `the key in SERVICE_API_KEY may not act as a worker: use one of role worker or standard${said}`;
  return `${settings.apiUrl} redirects to ${location ?? "another address"}: set SERVICE_API_URL to where the coordinator is`;
}

/** The `detail` or `title` of a problem document, or nothing. */
export function problemDetail(body: string): string {
  try {
    const { detail, title } = JSON.parse(body) as { detail?: unknown; title?: unknown };
    return typeof detail === "string" && detail !== "" ? detail : typeof title === "string" ? title : "";
  } catch {
    return "";
  }
}
