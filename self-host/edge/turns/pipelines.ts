// Requests that a client sends before it has the answers to those before them (HTTP pipelining). Answers leave in the
// order of their requests, so that an early begin gains little, and an answer that cannot leave yet takes memory.

import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Of one connection, answered at a time. */
export const ANSWERED_AT_A_TIME = 8;
/** Of one connection without an answer; with more it is cut off. Clients that pipeline send some tens. */
export const MAX_UNANSWERED = 256;

/** The requests of one connection. */
class Pipeline {
  readonly #socket: Socket;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get isFull(): boolean {
    return this.#underWay + this.#waiting.length >= MAX_UNANSWERED;
  }

  add(outgoing: Pick<ServerResponse, "once">, begin: () => void): void {
    this.#waiting.push(() => {
      outgoing.once("close", this.#left);
      begin();
    });
    this.#next();
  }

  /** An answer has left, or never will. */
  readonly #left = (): void => {
    this.#underWay -= 1;
    this.#next();
  };

  #next(): void {
    if (this.#underWay >= ANSWERED_AT_A_TIME || this.#socket.destroyed) return;
    const begin = this.#waiting.shift();
    if (begin === undefined) return;
    this.#underWay += 1;
    begin();
  }
}

export class Pipelines {
  readonly #ofSocket = new WeakMap<Socket, Pipeline>();

  /** Calls `begin` when few enough requests before it have no answer: of most clients at once. */
  enter(socket: Socket, outgoing: Pick<ServerResponse, "once">, begin: () => void): void {
    const pipeline = this.#ofSocket.get(socket) ?? new Pipeline(socket);
    this.#ofSocket.set(socket, pipeline);
    if (pipeline.isFull) socket.destroy();
    if (!socket.destroyed) pipeline.add(outgoing, begin);
  }
}
