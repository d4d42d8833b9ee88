// The platform's hibernating sockets: each survives the object's sleep with its attachment, and the platform answers its
// pings meanwhile.

import {
  type Attachment,
  closeReason,
  NORMAL_CLOSURE,
  PING,
  PONG,
  type SocketTable,
  type TenantSocket,
  tagsOf,
} from "./tenant-socket.ts";

export class HibernatingSockets implements SocketTable {
  readonly #state: DurableObjectState;
  readonly #known = new WeakMap<WebSocket, TenantSocket>();

  constructor(state: DurableObjectState) {
    this.#state = state;
    state.setWebSocketAutoResponse(new WebSocketRequestResponsePair(PING, PONG));
  }

  get size(): number {
    return this.#state.getWebSockets().length;
  }

  all(tag?: string): TenantSocket[] {
    return this.#state.getWebSockets(tag).map((socket) => this.of(socket));
  }

  /** The same each time. */
  of(socket: WebSocket): TenantSocket {
    const known = this.#known.get(socket) ?? new HibernatingSocket(this.#state, socket);
    this.#known.set(socket, known);
    return known;
  }
}

class HibernatingSocket implements TenantSocket {
  readonly #state: DurableObjectState;
  readonly #socket: WebSocket;
  /** Kept here, too: to read the platform's costs more than a turn's check of its worker. */
  #attachment: Attachment | null = null;

  constructor(state: DurableObjectState, socket: WebSocket) {
    this.#state = state;
    this.#socket = socket;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === WebSocket.OPEN;
  }

  get attachment(): Attachment | null {
    this.#attachment ??= this.#socket.deserializeAttachment() as Attachment | null;
    return this.#attachment;
  }

  get pingedAt(): number {
    return this.#state.getWebSocketAutoResponseTimestamp(this.#socket)?.getTime() ?? 0;
  }

  accept(attachment: Attachment): void {
    this.#state.acceptWebSocket(this.#socket, tagsOf(attachment));
    this.attach(attachment);
  }

  attach(attachment: Attachment): void {
    this.#attachment = attachment;
    this.#socket.serializeAttachment(attachment);
  }

  send(text: string): void {
    send(this.#socket, text);
  }

  close(code: number, reason: string): void {
    close(this.#socket, code, reason);
  }
}

export const send = (socket: WebSocket, message: string | Uint8Array): void => {
  try {
    socket.send(message);
  } catch {
    // Closed in between: its close event follows.
  }
};

/** The platform does not answer a close itself, and the other side would wait until its timeout. */
export const answerClose = (socket: WebSocket): void => close(socket, NORMAL_CLOSURE, "");

export const close = (socket: WebSocket, code: number, reason: string): void => {
  try {
    socket.close(code, closeReason(reason));
  } catch {
    // Already closed.
  }
};
