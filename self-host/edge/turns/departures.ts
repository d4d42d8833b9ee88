// Connections of one owner (`turn-owner.ts`) end a few in each turn of the event loop: a client that closes a thousand at
// once keeps no other waiting. The owner's other connections are not read until the next turns, so that their ends come
// later. The same happens when reading one takes long (`small-chunks.ts`).

import type { Socket } from "node:net";
import { resumeFirst } from "./held-sockets.ts";

const ENDED_AT_ONCE = 2;

interface Owned {
  readonly read: Set<Socket>;
  /** Those that are not read until their turn. */
  readonly held: Set<Socket>;
  /** In this turn. */
  ended: number;
}

export class Departures {
  readonly #atOnce: number;
  readonly #ownerOf = new WeakMap<Socket, string>();
  readonly #watched = new WeakSet<Socket>();
  readonly #owned = new Map<string, Owned>();
  /** Owners with ends in this turn, or with connections that are held. */
  readonly #busy = new Set<Owned>();

  constructor(atOnce: number = ENDED_AT_ONCE) {
    this.#atOnce = atOnce;
  }

  /** The connection asks for this owner. */
  note(socket: Socket, owner: string): void {
    if (this.#ownerOf.get(socket) === owner) return;
    this.leave(socket);
    const owned = this.#owned.get(owner) ?? { read: new Set(), held: new Set(), ended: 0 };
    this.#owned.set(owner, owned);
    owned.read.add(socket);
    this.#ownerOf.set(socket, owner);
    if (this.#watched.has(socket)) return;
    this.#watched.add(socket);
    // Its close comes only when all that ended in the same turn have been read.
    for (const event of ["end", "error"]) socket.once(event, () => this.#end(socket));
  }

  /** It has closed, or belongs to another protocol now. Returns its owner. */
  leave(socket: Socket): Owned | undefined {
    const owner = this.#ownerOf.get(socket);
    if (owner === undefined) return undefined;
    this.#ownerOf.delete(socket);
    const owned = this.#owned.get(owner);
    owned?.read.delete(socket);
    owned?.held.delete(socket);
    if (owned?.read.size === 0 && owned.held.size === 0) this.#owned.delete(owner);
    return owned;
  }

  /** To read it takes long: the owner's others are read in the next turns. */
  readLong(socket: Socket): void {
    const owned = this.#owned.get(this.#ownerOf.get(socket) ?? "");
    if (owned === undefined) return;
    this.#begin(owned);
    hold(owned);
  }

  #begin(owned: Owned): void {
    if (this.#busy.size === 0) setImmediate(() => this.#nextTurn());
    this.#busy.add(owned);
  }

  #end(socket: Socket): void {
    const owned = this.leave(socket);
    if (owned === undefined) return;
    this.#begin(owned);
    owned.ended += 1;
    if (owned.ended === this.#atOnce) hold(owned);
  }

  #nextTurn(): void {
    for (const owned of this.#busy) {
      owned.ended = 0;
      resumeFirst(owned.held, owned.read, this.#atOnce);
      if (owned.held.size === 0) this.#busy.delete(owned);
    }
    if (this.#busy.size > 0) setImmediate(() => this.#nextTurn());
  }
}

/** Except those that something else does not read, which would resume them. */
const hold = ({ read, held }: Owned): void => {
  for (const socket of read) {
    if (socket.isPaused()) continue;
    read.delete(socket);
    held.add(socket);
    socket.pause();
  }
};
