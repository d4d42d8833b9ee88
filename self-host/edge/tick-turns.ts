// How much one turn of the event loop does for one tenant, or one key. A thousand requests may be read from their sockets
// at once, and a thousand streams may have bytes; done in one turn, everything else of this process would wait for the
// last of them. The rest waits for the next turns, first come first served; others come in between.

/** Beyond it nothing waits: what begins is refused by the shares (`src/http/shares.ts`). */
export const MAX_WAITING = 4_096;

interface Turns {
  taken: number;
  readonly waiting: (() => void)[];
}

export class TickTurns {
  readonly #atOnce: number;
  /** Those with something to do in this turn, or waiting, by name. */
  readonly #turns = new Map<string, Turns>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Null: it may begin at once. */
  take(name: string): Promise<void> | null {
    const turns = this.#turns.get(name) ?? this.#begin(name);
    if (turns.taken < this.#atOnce || turns.waiting.length >= MAX_WAITING) {
      turns.taken += 1;
      return null;
    }
    return new Promise((resolve) => turns.waiting.push(resolve));
  }

  #begin(name: string): Turns {
    if (this.#turns.size === 0) setImmediate(() => this.#next());
    const turns = { taken: 0, waiting: [] };
    this.#turns.set(name, turns);
    return turns;
  }

  #next(): void {
    for (const [name, turns] of this.#turns) {
      if (turns.waiting.length === 0) this.#turns.delete(name);
      else for (const begin of turns.waiting.splice(0, this.#atOnce)) begin();
    }
    if (this.#turns.size > 0) setImmediate(() => this.#next());
  }
}
