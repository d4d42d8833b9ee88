// Hibernating sockets as the platform keeps them: they survive the object's sleep, and a deploy cuts them all.

/** The platform's limits, in bytes or characters. */
const MOST_ATTACHED = 16_384;
const MOST_TAGS = 10;
const LONGEST_TAG = 256;

export class SimulatedSocket {
  /** Frames that the other side has not read yet. */
  readonly inbox: string[] = [];
  tags: readonly string[] = [];
  isOpen = true;
  /** The object has been told that it closed. */
  isCloseTold = false;
  pingedAt: number | null = null;
  #attachment: string | null = null;

  get readyState(): number {
    return this.isOpen ? WebSocket.OPEN : WebSocket.CLOSED;
  }

  send(text: string): void {
    if (!this.isOpen) throw new Error("the socket is closed");
    this.inbox.push(text);
  }

  close(): void {
    this.isOpen = false;
  }

  serializeAttachment(attachment: unknown): void {
    const text = JSON.stringify(attachment);
    if (text.length > MOST_ATTACHED) throw new Error(`the platform keeps no attachment of ${text.length} bytes`);
    this.#attachment = text;
  }

  deserializeAttachment(): unknown {
    return this.#attachment === null ? null : JSON.parse(this.#attachment);
  }
}

export class SocketTable {
  #accepted: SimulatedSocket[] = [];

  accept(socket: SimulatedSocket, tags: readonly string[]): void {
    if (tags.length > MOST_TAGS || tags.some((tag) => tag.length > LONGEST_TAG))
      throw new Error(`the platform keeps no tags ${tags}`);
    socket.tags = tags;
    this.#accepted.push(socket);
  }

  /** What the object may ask for: sockets whose end it has not been told of. */
  all(tag?: string): SimulatedSocket[] {
    return this.#accepted.filter((socket) => tag === undefined || socket.tags.includes(tag));
  }

  has(socket: SimulatedSocket): boolean {
    return this.#accepted.includes(socket);
  }

  /** Sockets that closed since the object was last told. */
  takeClosed(): SimulatedSocket[] {
    const closed = this.#accepted.filter((socket) => !socket.isOpen);
    this.#accepted = this.#accepted.filter((socket) => socket.isOpen);
    return closed;
  }

  /** A connection whose opening failed has nobody at its other end. */
  cutUnheld(held: ReadonlySet<SimulatedSocket | null>): void {
    for (const socket of this.#accepted) if (!held.has(socket)) socket.close();
  }

  /** A deploy, or the machine's end: nobody is told anything. */
  cutAll(): void {
    for (const socket of this.#accepted) socket.isOpen = false;
    this.#accepted = [];
  }
}
