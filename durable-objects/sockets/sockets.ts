// The sockets of a tenant: which worker or viewer each belongs to, kept in its attachment. Messages to one socket go out
// in one frame.

import type { CoordinatorMessage } from "../../contract/socket.ts";
import { closeCodes } from "../../contract/words/values.ts";
import { LONG_TEXT_CHARS } from "../../domain/words/size.ts";
import type { HandedOver } from "../turn/effects.ts";
import {
  type Attachment,
  keyTag,
  NORMAL_CLOSURE,
  type SocketTable,
  type TenantSocket,
  TRY_AGAIN,
  VIEWER,
} from "./tenant-socket.ts";

/** The platform's limit per object is 32,768: above it `acceptWebSocket` throws. */
export const MAX_SOCKETS = 32_000;
/** Other turns run between two flushes. */
const SOCKETS_A_FLUSH = 500;

export class Sockets {
  readonly #tables: readonly SocketTable[];
  readonly #workers = new Map<string, TenantSocket>();
  /** There was a viewer when this was last looked at, or one came since. */
  #mayHaveViewers = true;
  /** Whether a later task sends what is queued. */
  #isFlushLater = false;
  /** Called when every socket has its messages. */
  #untilTold: (() => void)[] = [];
  readonly #outgoing = new Map<TenantSocket, string[]>();

  constructor(tables: readonly SocketTable[]) {
    this.#tables = tables;
    for (const socket of this.#all()) {
      const { attachment } = socket;
      if (attachment?.kind === "worker") this.#workers.set(attachment.instance, socket);
    }
  }

  #all(tag?: string): TenantSocket[] {
    return this.#tables.flatMap((table) => table.all(tag));
  }

  get isFull(): boolean {
    return this.#tables.reduce((sum, { size }) => sum + size, 0) >= MAX_SOCKETS;
  }

  connectedInstances(): Iterable<string> {
    return this.#workers.keys();
  }

  /** Replaces an older socket of the same worker. */
  accept(socket: TenantSocket, attachment: Attachment): void {
    socket.accept(attachment);
    if (attachment.kind === VIEWER) this.#mayHaveViewers = true;
    if (attachment.kind !== "worker") return;
    const older = this.#workers.get(attachment.instance);
    this.#workers.set(attachment.instance, socket);
    older?.close(closeCodes.replaced, "another connection of this instance replaced this one");
  }

  /** Returns the worker whose current socket this was and when it was last alive; null for any other socket. */
  forget(socket: TenantSocket): { readonly instance: string; readonly signAt: number } | null {
    this.#outgoing.delete(socket);
    const { attachment } = socket;
    if (attachment?.kind !== "worker" || this.#workers.get(attachment.instance) !== socket) return null;
    const { instance } = attachment;
    this.#workers.delete(instance);
    return { instance, signAt: lastSignOn(socket) };
  }

  /** The last sign of life on a worker's open socket: its pings are answered elsewhere. */
  lastSignOf(instance: string, keyId?: string | null): number | null {
    const socket = this.#workers.get(instance);
    const isMeant = keyId === undefined || socket?.attachment?.keyId === keyId;
    return socket === undefined || !isMeant ? null : lastSignOn(socket);
  }

  viewers(): TenantSocket[] {
    if (!this.#mayHaveViewers) return [];
    const viewers = this.#all(VIEWER);
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

  queue(socket: TenantSocket, message: CoordinatorMessage): void {
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

  #queueText(socket: TenantSocket, text: string): void {
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
      for (const frame of framesOf(texts)) socket.send(frame);
      count += 1;
    }
    for (const told of this.#untilTold.splice(0)) told();
  }

  /** `liveHashes`: of the key's secrets that are still valid. */
  endKey(keyId: string, liveHashes: readonly string[]): void {
    for (const socket of this.#all(keyTag(keyId))) {
      if (!liveHashes.includes(socket.attachment?.openedWith ?? ""))
        socket.close(closeCodes.keyEnded, "the key has ended");
    }
  }

  endSession(id: string): void {
    for (const socket of this.viewers()) {
      if (socket.attachment?.sessionId === id) socket.close(closeCodes.keyEnded, "the session has ended");
    }
  }

  endAll(why: "deleted" | "moves"): void {
    // Whoever comes back is told where the tenant is, or is served here again.
    const [code, reason] =
      why === "moves" ? [TRY_AGAIN, "the tenant moves"] : [closeCodes.keyEnded, "the tenant was deleted"];
    for (const socket of this.#all()) socket.close(code, reason);
  }

  /** The worker was forgotten, or belongs to this key now: another's socket must not get its jobs. */
  endOthers({ instance, keyId }: HandedOver): void {
    const socket = this.#workers.get(instance);
    if (socket?.attachment?.keyId !== keyId) socket?.close(NORMAL_CLOSURE, "the worker is no longer this key's");
  }
}

const lastSignOn = ({ pingedAt, attachment }: TenantSocket): number => Math.max(pingedAt, attachment?.connectedAt ?? 0);

/** Prompts may be large, so a frame is closed before it is a long text. */
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
    if (chars + text.length > LONG_TEXT_CHARS) close();
    texts.push(text);
    chars += text.length;
  }
  close();
  return frames;
};
