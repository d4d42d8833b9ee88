// What the process around the edge provides when that is not the platform: self-hosted, Node runs the edge in front of
// workerd. On Cloudflare, and where workerd serves alone, there is none.

import type { Context } from "hono";
import type { Refusal } from "../domain/words/refusal.ts";
import type { Result } from "../domain/words/result.ts";
import type { Credential } from "../durable-objects/steps/holders.ts";

/** `vital`: stops or finishes work. `heavy`: reads or writes much. `waiting`: held open without work. */
export type Lane = "vital" | "usual" | "heavy" | "waiting";

/**
 * `parsing`: a step that keeps the thread. `opening`: a stream until its answer begins. `reading`: one job from history,
 * which may have megabytes. `storing`: the beginning of an upload, and all of a small one. `sending`: a file's bytes as an
 * answer, until they begin; `sent`: until they have ended.
 */
export type Work = Lane | "parsing" | "telling" | "opening" | "reading" | "storing" | "sending" | "sent";

export interface Home {
  /** Has the app in workerd answer the request, for bindings that Node lacks. */
  readonly passOn: (c: Context) => Promise<Response>;
  /** Opens the client's WebSocket if the tenant accepts it. */
  readonly openSocket: (c: Context, tenant: string, opening: SocketOpening) => Promise<Result<Response, Refusal>>;
  /** Whether all processes that hold tenants answer. */
  readonly isWhole: () => boolean;
  readonly disk: () => Disk;
  /** Between two long steps of one request others have their turn of the event loop. */
  readonly othersFirst: () => Promise<void>;
  /** Resolves when the tenant may keep the thread for some milliseconds, until this turn of the event loop ends. */
  readonly longStep: (tenant: string) => Promise<void>;
  /** The whole body, if it has arrived already: most do with the head, and need no deadline; null otherwise. */
  readonly arrivedBody: (c: Context) => Uint8Array | null;
  /** SHA-256 in hex, at once: the platform's own asks another thread, which takes six times the CPU of a short text. */
  readonly digest: (text: string) => string;
  /** The client's address. */
  readonly addressOf: (c: Context) => string;
  /** Calls back once when the answer has ended: it was sent, its client left, or it broke. */
  readonly onAnswerEnd: (c: Context, then: () => void) => void;
  /** Ends the answer's connection at once: nothing of it looks whole. Where it is missing, the answer's body fails. */
  readonly cut?: (c: Context) => void;
  /** A request may write so many bytes, as far as they come; call the result when it has ended. */
  readonly expectWrite: (c: Context, bytes: number) => () => void;
  /** Resolves when it is the tenant's turn; call the returned function to end the turn. Null if nothing waits here. */
  readonly takeTurn: (tenant: string, work: Work) => Promise<() => void> | null;
}

export interface SocketOpening {
  readonly credential: Credential;
  /** Null for a viewer. */
  readonly instance: string | null;
}

/** The file system that contains the data. */
export interface Disk {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** `low`: the operator should act. `full`: the rest is kept for reads, reports and the killswitch. */
  readonly state: "ok" | "low" | "full";
}

/** The folder of the archive: workerd's service of a folder, or the same in Node. */
export interface ArchiveFolder {
  readonly fetch: (url: string, init?: { method: string; body?: Uint8Array<ArrayBuffer> }) => Promise<Response>;
}
