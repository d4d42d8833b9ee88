// Requests that a client sends before it has the answers to those before them (HTTP pipelining). Answers leave in the
// order of their requests, so that an early begin gains little, and an answer that cannot leave yet takes memory.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Of one connection, answered at a time. */
export const ANSWERED_AT_A_TIME = 8;
/** Of one connection without an answer; with more it is cut off. Clients that pipeline send some tens. */
export const MAX_UNANSWERED = 256;
/** What the waiting requests of all connections may take; a client that sends one more is cut off. */
export const MAX_PIPELINED_BYTES = 32 * 1024 * 1024;
/** Of a request beside its headers: what Node and its listeners keep of it. */
const REQUEST_BYTES = 4 * 1024;

interface HeldBack {
  readonly begin: () => void;
  readonly bytes: number;
}

const bytesOf = ({ rawHeaders, url = "" }: IncomingMessage): number =>
  rawHeaders.reduce((sum, { length }) => sum + length, REQUEST_BYTES + url.length);

/** Node tells only the answer that has the connection of its loss: those behind it would be under way for ever. */
const endUnsent = (answer: ServerResponse): void => {
  if (answer.socket !== null) return;
  answer.destroy();
  answer.emit("close");
};

/** The requests of one connection. */
class Pipeline {
  readonly #socket: Socket;
  readonly #all: { bytes: number };
  #waiting: HeldBack[] = [];
  readonly #underWay = new Set<ServerResponse>();

  constructor(socket: Socket, all: { bytes: number }) {
    this.#socket = socket;
    this.#all = all;
    socket.once("close", () => {
      for (const { bytes } of this.#waiting) all.bytes -= bytes;
      this.#waiting = [];
      for (const answer of this.#underWay) endUnsent(answer);
    });
  }

  get isEmpty(): boolean {
    return this.#underWay.size === 0;
  }

  get isFull(): boolean {
    return this.#underWay.size + this.#waiting.length >= MAX_UNANSWERED;
  }

  /** False if it would have to wait, and too much waits. */
  add(incoming: IncomingMessage, outgoing: ServerResponse, begin: () => void): boolean {
    const start = (): void => {
      this.#underWay.add(outgoing);
      outgoing.once("close", () => this.#left(outgoing));
      begin();
    };
    if (this.#underWay.size < ANSWERED_AT_A_TIME) {
      start();
      return true;
    }
    const bytes = bytesOf(incoming);
    if (this.#all.bytes + bytes > MAX_PIPELINED_BYTES) return false;
    this.#all.bytes += bytes;
    this.#waiting.push({ begin: start, bytes });
    return true;
  }

  /** An answer has left, or never will. */
  #left(outgoing: ServerResponse): void {
    this.#underWay.delete(outgoing);
    if (this.#socket.destroyed) return;
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#all.bytes -= next.bytes;
    next.begin();
  }
}

export class Pipelines {
  readonly #ofSocket = new WeakMap<Socket, Pipeline>();
  /** What waits. */
  readonly #all = { bytes: 0 };

  /** It has answers under way. */
  isBusy(socket: Socket): boolean {
    return this.#ofSocket.get(socket)?.isEmpty === false;
  }

  /** Calls `begin` when few enough requests before it have no answer: of most clients at once. */
  enter(incoming: IncomingMessage, outgoing: ServerResponse, begin: () => void): void {
    const { socket } = incoming;
    if (socket.destroyed) return;
    const pipeline = this.#ofSocket.get(socket) ?? new Pipeline(socket, this.#all);
    this.#ofSocket.set(socket, pipeline);
    if (pipeline.isFull || !pipeline.add(incoming, outgoing, begin)) socket.destroy();
  }
}
