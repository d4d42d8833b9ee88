// The hibernating sockets of a tenant: which worker or viewer each belongs to, kept in its attachment so that it
// survives the object's sleep. Messages to one socket go out in one frame.

import type { CoordinatorMessage } from "../contract/socket.ts";
import { closeCodes } from "../contract/values.ts";
import type { Role } from "../domain/key.ts";

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

export const PING = "ping";
export const PONG = "pong";
const NORMAL_CLOSURE = 1000;
/** The platform's limit per object is 32,768: above it `acceptWebSocket` throws. */
const MAX_SOCKETS = 32_000;
/** Other turns run between two flushes. */
const SOCKETS_A_FLUSH = 500;
const MAX_CLOSE_REASON = 120;

export class Sockets {
  readonly #state: DurableObjectState;
  readonly #workers = new Map<string, WebSocket>();
  /** Attachments of workers' sockets, which never change: reading one costs more than a turn's check of its worker. */
  readonly #ofWorkers = new WeakMap<WebSocket, Attachment>();
  /** There was a viewer when this was last looked at, or one came since. */
  #mayHaveViewers = true;
  /** Whether a later task sends what is queued. */
  #isFlushLater = false;
  /** Called when every socket has its messages. */
  #untilTold: (() => void)[] = [];
  readonly #outgoing = new Map<WebSocket, string[]>();

  constructor(state: DurableObjectState) {
    this.#state = state;
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
    for (const socket of state.getWebSockets()) {
      const attachment = this.attachmentOf(socket);
      if (attachment?.kind === "worker") this.#workers.set(attachment.instance, socket);
    }
  }

  attachmentOf(socket: WebSocket): Attachment | null {
    const known = this.#ofWorkers.get(socket);
    if (known !== undefined) return known;
    const attachment = attachmentOf(socket);
    if (attachment?.kind === "worker") this.#ofWorkers.set(socket, attachment);
    return attachment;
  }

  /** The platform accepts no more sockets for this object. */
  get isFull(): boolean {
    return this.#state.getWebSockets().length >= MAX_SOCKETS;
  }

  connectedInstances(): Iterable<string> {
    return this.#workers.keys();
  }

  /** Replaces an older socket of the same worker. */
  accept(socket: WebSocket, attachment: Attachment): void {
    this.#state.acceptWebSocket(socket, [attachment.kind, `key:${attachment.keyId}`]);
    socket.serializeAttachment(attachment);
    if (attachment.kind === "viewer") this.#mayHaveViewers = true;
    if (attachment.kind !== "worker") return;
    const older = this.#workers.get(attachment.instance);
    this.#workers.set(attachment.instance, socket);
    if (older !== undefined) close(older, closeCodes.replaced, "another connection of this instance replaced this one");
  }

  /** Returns the worker whose current socket this was and when it was last alive; null for any other socket. */
  forget(socket: WebSocket): { readonly instance: string; readonly signAt: number } | null {
    this.#outgoing.delete(socket);
    const attachment = this.attachmentOf(socket);
    if (attachment?.kind !== "worker" || this.#workers.get(attachment.instance) !== socket) return null;
    const { instance } = attachment;
    const signAt = this.lastSignOf(instance) ?? 0;
    this.#workers.delete(instance);
    return { instance, signAt };
  }

  /** The last sign of life on a worker's open socket: its pings are answered while the object sleeps. */
  lastSignOf(instance: string): number | null {
    const socket = this.#workers.get(instance);
    if (socket === undefined) return null;
    const pingedAt = this.#state.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0;
    return Math.max(pingedAt, this.attachmentOf(socket)?.connectedAt ?? 0);
  }

  isConnected(instance: string): boolean {
    return this.#workers.has(instance);
  }

  viewers(): WebSocket[] {
    if (!this.#mayHaveViewers) return [];
    const viewers = this.#state.getWebSockets("viewer");
    this.#mayHaveViewers = viewers.length > 0;
    return viewers;
  }

  /** Queues a message for a worker; returns whether its socket is open. */
  queueFor(instance: string, message: CoordinatorMessage): boolean {
    const socket = this.#workers.get(instance);
    if (socket === undefined) return false;
    this.queue(socket, message);
    return true;
  }

  queue(socket: WebSocket, message: CoordinatorMessage): void {
    this.#queueText(socket, JSON.stringify(message));
  }

  /** A broadcast has not reached every socket yet. */
  get isTelling(): boolean {
    return this.#isFlushLater;
  }

  allTold(): Promise<void> {
    return new Promise((resolve) => {
      this.#untilTold.push(resolve);
    });
  }

  /** Serialised once for all sockets; sent after the caller has its answer. */
  queueForAll(message: CoordinatorMessage, except: ReadonlySet<string> = new Set()): void {
    const text = JSON.stringify(message);
    for (const [instance, socket] of this.#workers) if (!except.has(instance)) this.#queueText(socket, text);
    this.#flushLater();
  }

  #queueText(socket: WebSocket, text: string): void {
    const queued = this.#outgoing.get(socket);
    if (queued === undefined) this.#outgoing.set(socket, [text]);
    else queued.push(text);
  }

  #flushLater(): void {
    if (this.#isFlushLater) return;
    this.#isFlushLater = true;
    setTimeout(() => {
      this.#isFlushLater = false;
      this.flush();
    }, 0);
  }

  /**
   * Sends what is queued: one frame per socket, or a few for large content. The platform holds it until the write
   * before it is durable.
   */
  flush(): void {
    if (this.#isFlushLater) return;
    let count = 0;
    for (const [socket, texts] of this.#outgoing) {
      if (count === SOCKETS_A_FLUSH) {
        this.#flushLater();
        return;
      }
      this.#outgoing.delete(socket);
      for (const frame of framesOf(texts)) send(socket, frame);
      count += 1;
    }
    for (const told of this.#untilTold.splice(0)) told();
  }

  /** `liveHashes`: of the key's secrets that are still valid. */
  endKey(keyId: string, liveHashes: readonly string[]): void {
    for (const socket of this.#state.getWebSockets(`key:${keyId}`)) {
      if (!liveHashes.includes(attachmentOf(socket)?.openedWith ?? "")) {
        close(socket, closeCodes.keyEnded, "the key has ended");
      }
    }
  }

  endSession(id: string): void {
    for (const socket of this.viewers()) {
      if (attachmentOf(socket)?.sessionId === id) close(socket, closeCodes.keyEnded, "the session has ended");
    }
  }

  /** The tenant was deleted. */
  endAll(): void {
    for (const socket of this.#state.getWebSockets()) close(socket, closeCodes.keyEnded, "the tenant was deleted");
  }

  endWorker(instance: string): void {
    const socket = this.#workers.get(instance);
    if (socket !== undefined) close(socket, NORMAL_CLOSURE, "the worker was forgotten");
  }
}

/** Prompts may be large, so a frame is closed at about this length. */
const FULL_FRAME_CHARS = 1_000_000;

const framesOf = (messages: readonly string[]): string[] => {
  const frames: string[] = [];
  let texts: string[] = [];
  let chars = 0;
  const close = (): void => {
    if (texts.length > 0) frames.push(texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(",")}]`);
    texts = [];
    chars = 0;
  };
  for (const text of messages) {
    if (chars + text.length > FULL_FRAME_CHARS) close();
    texts.push(text);
    chars += text.length;
  }
  close();
  return frames;
};

export const attachmentOf = (socket: WebSocket): Attachment | null =>
  socket.deserializeAttachment() as Attachment | null;

/** A closing socket is skipped; its worker learns everything when it reconnects. */
export const send = (socket: WebSocket, text: string): void => {
  try {
    socket.send(text);
  } catch {
    // Closed in between: `webSocketClose` follows.
  }
};

/** The platform does not answer a close itself, and the other side would wait until its timeout. */
export const answerClose = (socket: WebSocket): void => close(socket, NORMAL_CLOSURE, "");

export const close = (socket: WebSocket, code: number, reason: string): void => {
  try {
    socket.close(code, reason.slice(0, MAX_CLOSE_REASON));
  } catch {
    // Already closed.
  }
};
