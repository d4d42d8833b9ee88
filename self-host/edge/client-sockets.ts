// The WebSockets of workers and viewers on one line to an object. Their messages of one tick go as one
// message, and those to them come as one (`durable-objects/sockets/socket-group.ts`); the object decides everything. Only
// pings are answered here. Beside other tenants a message goes when it is the tenant's turn. Invariants: a socket ends
// with its line; clients are read no faster than the object reads.

import type { Refusal } from "../../domain/words/refusal.ts";
import type { Result } from "../../domain/words/result.ts";
import { OPEN_SOCKET, SOCKETS, type SocketAsked } from "../../durable-objects/sockets/object-line.ts";
import { readSocketGroup, SocketGroupWriter } from "../../durable-objects/sockets/socket-group.ts";
import { PING, PONG } from "../../durable-objects/sockets/tenant-socket.ts";
import type { SocketOpening } from "../../src/home.ts";

/** How late the object may learn of a ping. */
export const PINGS_TOLD_WITHIN_MS = 250;
/** Of one socket's in that time; each answer is a write. */
export const MAX_PONGS = 16;
/** Clients are not read while the object is this far behind. */
export const MAX_BEHIND_BYTES = 8 * 1024 * 1024;

/** So many characters keep the object busy for some ten milliseconds. A longer message has a turn of its own. */
const CHARS_A_TURN = 64 * 1024;

/** A client's WebSocket. */
export interface ClientSocket {
  /** `onText` gets null for a frame that is not text; `onClose` is called once, no matter which side ended it. */
  readonly listen: (onText: (text: string | null) => void, onClose: (code: number, reason: string) => void) => void;
  /** Cuts off a client that leaves too much unread. */
  readonly send: (text: Uint8Array) => void;
  readonly close: (code: number, reason: string) => void;
  /** Ends it at once. */
  readonly cut: () => void;
  readonly pause: () => void;
  readonly resume: () => void;
  /** The object was told all that it has said. */
  readonly told: () => void;
}

/** The line that they are on. */
interface ObjectCalls {
  readonly call: (method: string, args: readonly unknown[]) => Promise<unknown>;
  /** Sends what has no answer. */
  readonly tell: (method: string, text: string) => void;
  /** Resolves when it was carried out. */
  readonly ask: (method: string, text: string) => Promise<unknown>;
  readonly unsentBytes: () => number;
  /** Resolves when it is the tenant's turn to tell something; call the result when that was carried out. Null: at once. */
  readonly takeTurn: () => Promise<() => void> | null;
}

type Opened = Result<null, Refusal>;

interface Seat {
  /** Null until the handshake is complete. */
  socket: ClientSocket | null;
  /** What is sent to it then. */
  readonly early: ((socket: ClientSocket) => void)[];
}

/** There was no close frame (RFC 6455, 7.1.5). */
const ABNORMAL_CLOSURE = 1006;

const encoder = new TextEncoder();
const bytesOf = (text: string): Uint8Array => encoder.encode(text);
const PONG_BYTES = bytesOf(PONG);

export class ClientSockets {
  readonly #line: ObjectCalls;
  readonly #seats = new Map<number, Seat>();
  readonly #group = new SocketGroupWriter();
  /** How often each has pinged since the object was told. */
  readonly #pinged = new Map<number, number>();
  readonly #paused = new Set<ClientSocket>();
  #lastNumber = 0;
  #isOver = false;
  #isTellScheduled = false;
  #awaitsTurn = false;
  #pingTimer: NodeJS.Timeout | null = null;

  constructor(line: ObjectCalls) {
    this.#line = line;
  }

  get size(): number {
    return this.#seats.size;
  }

  /** Opens a socket if the tenant accepts it; `upgrade` completes the handshake, or returns null if the client left. */
  async open({ credential, instance }: SocketOpening, upgrade: () => ClientSocket | null): Promise<Opened> {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    const seat: Seat = { socket: null, early: [] };
    this.#seats.set(number, seat);
    const opened = await this.#ask([number, credential, instance]);
    if (opened.ok) this.#begin(number, seat, upgrade);
    return opened;
  }

  async #ask(asked: SocketAsked): Promise<Opened> {
    let isAccepted = false;
    try {
      const opened = (await this.#line.call(OPEN_SOCKET, asked)) as Opened;
      isAccepted = opened.ok;
      return opened;
    } finally {
      if (!isAccepted) this.#seats.delete(asked[0]);
    }
  }

  /** Takes what the object says. */
  take(message: string): void {
    const { texts, closes } = readSocketGroup(message);
    for (const { text, sockets } of texts) {
      const bytes = bytesOf(text ?? "");
      for (const number of sockets) this.#do(number, (socket) => socket.send(bytes));
    }
    for (const { socket: number, code, reason } of closes) this.#do(number, (socket) => socket.close(code, reason));
  }

  /** The object has caught up. */
  resume(): void {
    this.#readAgain();
    this.#tell();
  }

  /** The line has ended. */
  end(): void {
    this.#isOver = true;
    if (this.#pingTimer !== null) clearTimeout(this.#pingTimer);
    for (const { socket } of this.#seats.values()) socket?.cut();
    this.#seats.clear();
  }

  #begin(number: number, seat: Seat, upgrade: () => ClientSocket | null): void {
    try {
      seat.socket = upgrade();
    } finally {
      if (seat.socket === null) this.#left(number, ABNORMAL_CLOSURE, "");
    }
    const { socket, early } = seat;
    if (socket === null) return;
    socket.listen(
      (text) => this.#hear(number, socket, text),
      (code, reason) => this.#left(number, code, reason),
    );
    for (const tell of early) tell(socket);
    if (this.#isOver) socket.cut();
  }

  #do(number: number, tell: (socket: ClientSocket) => void): void {
    const seat = this.#seats.get(number);
    if (seat?.socket === null) seat.early.push(tell);
    else if (seat !== undefined) tell(seat.socket);
  }

  #hear(number: number, socket: ClientSocket, text: string | null): void {
    if (text === PING) this.#answerPing(number, socket);
    else this.#say(number, socket, text);
  }

  #readAgain(): void {
    if (this.#isBehind || this.#group.isFull) return;
    for (const socket of this.#paused) socket.resume();
    this.#paused.clear();
  }

  get #isBehind(): boolean {
    return this.#line.unsentBytes() >= MAX_BEHIND_BYTES;
  }

  #say(number: number, socket: ClientSocket, text: string | null): void {
    this.#group.add(number, text);
    this.#tellSoon();
    if (!this.#group.isFull && !this.#isBehind) return;
    socket.pause();
    this.#paused.add(socket);
  }

  #answerPing(number: number, socket: ClientSocket): void {
    const pings = (this.#pinged.get(number) ?? 0) + 1;
    this.#pinged.set(number, pings);
    if (pings <= MAX_PONGS) socket.send(PONG_BYTES);
    this.#pingTimer ??= setTimeout(() => this.#tellPings(), PINGS_TOLD_WITHIN_MS);
  }

  /** Pings alone take no turn: a tenant whose workers are idle must not count as active beside others. */
  #tellPings(): void {
    this.#pingTimer = null;
    const isAllPings = this.#group.isEmpty;
    for (const number of this.#pinged.keys()) this.#group.share(number, PING);
    this.#pinged.clear();
    if (isAllPings && !this.#isBehind) this.#tellNow();
    else this.#tell();
  }

  #left(number: number, code: number, reason: string): void {
    const seat = this.#seats.get(number);
    if (this.#isOver || seat === undefined) return;
    this.#seats.delete(number);
    if (seat.socket !== null) this.#paused.delete(seat.socket);
    if (this.#pinged.delete(number)) this.#group.share(number, PING);
    this.#group.close({ socket: number, code, reason });
    this.#tellSoon();
  }

  #tellSoon(): void {
    if (this.#group.isFull) this.#tell();
    if (this.#isTellScheduled) return;
    this.#isTellScheduled = true;
    setImmediate(() => {
      this.#isTellScheduled = false;
      this.#tell();
    });
  }

  #tell(): void {
    while (!(this.#group.isEmpty || this.#isOver || this.#awaitsTurn || this.#isBehind)) {
      const turn = this.#line.takeTurn();
      if (turn === null) this.#tellNow();
      else void this.#tellInTurn(turn);
    }
  }

  #tellNow(): void {
    this.#line.tell(SOCKETS, this.#taken());
    this.#readAgain();
  }

  #taken(mostChars?: number): string {
    const { text, whole } = this.#group.take(mostChars);
    for (const number of whole) this.#seats.get(number)?.socket?.told();
    return text;
  }

  /** What comes next waits for a turn of its own, which begins when this one ends. */
  async #tellInTurn(turn: Promise<() => void>): Promise<void> {
    this.#awaitsTurn = true;
    // If the turn is refused, because this process stood still, the messages go without one: they must not get lost.
    const end = await turn.catch(() => null);
    this.#awaitsTurn = false;
    if (this.#isOver) return end?.();
    const carriedOut = this.#line.ask(SOCKETS, this.#taken(CHARS_A_TURN));
    // A line that ends takes its sockets with it.
    void carriedOut.catch(() => undefined).then(() => end?.());
    this.#readAgain();
    this.#tell();
  }
}
