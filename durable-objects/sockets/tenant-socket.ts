// A connection of a tenant's worker or viewer, as the object sees it. On the platform it is a hibernating socket
// (`hibernating-sockets.ts`); self-hosted it ends in Node and its frames come on the object's line (`line-sockets.ts`).

import type { Role } from "../../domain/access/key.ts";

export interface Attachment {
  readonly kind: "worker" | "viewer";
  readonly keyId: string;
  readonly name: string;
  readonly role: Role;
  /** Empty for a viewer. */
  readonly instance: string;
  readonly connectedAt: number;
  /** Digest of the secret that opened it, or that opened its session: it ends with that secret. */
  readonly openedWith: string;
  /** The session that it was opened in; null if it was opened with the key itself. */
  readonly sessionId: string | null;
  /** Frames sent to a viewer so far. */
  readonly seq: number;
}

export interface TenantSocket {
  readonly isOpen: boolean;
  /** Null until it is accepted. */
  readonly attachment: Attachment | null;
  /** When it last sent `ping`; 0 if never. */
  readonly pingedAt: number;
  accept(attachment: Attachment): void;
  attach(attachment: Attachment): void;
  /** Does nothing if the socket is closing: its worker learns everything when it reconnects. */
  send(text: string): void;
  close(code: number, reason: string): void;
}

/** Those of one kind that are accepted and whose end the object does not know. */
export interface SocketTable {
  readonly size: number;
  all(tag?: string): TenantSocket[];
}

/** The tags under which tables find an accepted socket. */
export const tagsOf = ({ kind, keyId }: Attachment): [string, string] => [kind, keyTag(keyId)];
export const VIEWER: Attachment["kind"] = "viewer";
export const keyTag = (keyId: string): string => `key:${keyId}`;

export const PING = "ping";
export const PONG = "pong";
export const NORMAL_CLOSURE = 1000;
/** RFC 6455's registry: the service restarts, and the client may come back. */
export const TRY_AGAIN = 1012;
export const INTERNAL_ERROR = 1011;
/** The protocol allows 123 bytes; our reasons are ASCII, except for what they quote. */
const MAX_CLOSE_REASON = 120;

export const closeReason = (reason: string): string => reason.replace(/[^ -~]/g, "?").slice(0, MAX_CLOSE_REASON);
