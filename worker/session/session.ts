// The loop's connection to the coordinator: a WebSocket or plain HTTP. Both use the socket's messages, so the loop does
// not know which one it has.

import type { CoordinatorMessage, WorkerMessage } from "../../contract/socket.ts";
import { INSUFFICIENT_STORAGE, INTERNAL_SERVER_ERROR, TOO_MANY_REQUESTS } from "../../contract/words/http-status.ts";

export type { CoordinatorMessage, WorkerMessage };

export type Session = {
  kind: "socket" | "http";
  /** May get lost: what must arrive is sent again until it is acknowledged. */
  send: (message: WorkerMessage) => void;
  /**
   * Shows that the worker is alive without waking the tenant's object. If nothing arrives within that time, the
   * connection is dead.
   */
  ping: (answerWithinMs: number) => void;
  /** The number of free slots changed; the HTTP session claims jobs for them. */
  slotsChanged: () => void;
  /** Sends the start of a job, if it is held back, and resolves when it is answered. A socket holds nothing back. */
  startTold?: (jobId: string) => Promise<void> | undefined;
  /** Sends what is queued, then closes. `ended` resolves. */
  close: () => void;
  ended: Promise<Ending>;
};

export type Ending =
  /** The connection is lost; a new one may succeed. `wasReached`: there was one. */
  { kind: "lost"; reason: string; wasReached?: boolean } | Refused;

/**
 * Trying again cannot help. `isForeign`: no coordinator said it, so the address is wrong; but if the worker had reached
 * its coordinator before, it is a login page of the network or a gateway, which passes.
 */
type Refused = { kind: "refused"; reason: string; isForeign: boolean };

export type Opened =
  | { ok: true; session: Session }
  /** `cut`: the connection ended before there was an answer. */
  | ({ ok: false } & (Refused | { kind: "unreachable" | "no_socket" | "cut"; reason: string }));

export type SessionHost = {
  receive: (message: CoordinatorMessage) => void;
  freeSlots: () => number;
};

export type SessionSettings = { apiUrl: string; apiKey: string; instance: string; handshakeWithinMs?: number };

/**
 * 401 and 403 end the worker, because every new try would be refused, too. A redirect, and 410 of a tenant that has
 * moved, mean that the address is wrong.
 */
export const isRefusal = (status: number): boolean =>
  status === 401 || status === 403 || status === 410 || (status >= 300 && status < 400);

/** 403 of a report is about its job alone: it came back to the queue, and its worker was forgotten since. */
export const isRefusalOfReport = (status: number): boolean => status !== 403 && isRefusal(status);

export const explainRefusal = (
  status: number,
  detail: string,
  settings: SessionSettings,
  location?: string,
): string => {
  const said = detail === "" ? "" : ` (${detail})`;
  if (status === 401) return `${settings.apiUrl} refused the key: set SERVICE_API_KEY to a valid key${said}`;
  if (status === 403)
    return `the key in SERVICE_API_KEY may not act as a worker: use one of role worker or standard${said}`;
  if (status === 410) return `set SERVICE_API_URL to the new address${said}`;
  return `${settings.apiUrl} redirects to ${location ?? "another address"}: set SERVICE_API_URL to the coordinator's own address`;
};

/** Whether the coordinator may take the same soon; it is full until somebody makes room. */
export const mayPass = (status: number): boolean =>
  status === TOO_MANY_REQUESTS || (status >= INTERNAL_SERVER_ERROR && status !== INSUFFICIENT_STORAGE);

/** The `detail` or `title` of a problem document, or an empty text. */
export const problemDetail = (body: string): string => {
  try {
    const { detail, title } = JSON.parse(body) as { detail?: unknown; title?: unknown };
    return typeof detail === "string" && detail !== "" ? detail : typeof title === "string" ? title : "";
  } catch {
    return "";
  }
};
