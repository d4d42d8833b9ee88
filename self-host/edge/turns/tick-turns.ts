// How much one turn of the event loop does for one tenant, or one key. A thousand requests may be read from their sockets
// at once, and a thousand streams may have bytes; done in one turn, everything else of this process would wait for the
// last of them. The rest waits for the next turns, first come first served; others come in between.

/** Beyond this number work begins at once, and the shares refuse it (`src/http/shares.ts`). */
export const MAX_WAITING = 4_096;

interface Work {
  readonly size: number;
  readonly begin: () => void;
}

interface Turns {
  taken: number;
  waiting: Work[];
}

export class TickTurns {
  readonly #sizeOfTurn: (name: string) => number;
  /** Those with something to do in this turn, or waiting, by name. */
  readonly #turns = new Map<string, Turns>();

  /** `sizeOfTurn`: what one name may do in one turn, together; what is larger has a turn of its own. */
  constructor(sizeOfTurn: (name: string) => number) {
    this.#sizeOfTurn = sizeOfTurn;
  }

  /** Null: it may begin at once. */
  take(name: string, size = 1): Promise<void> | null {
    const turns = this.#turns.get(name) ?? this.#begin(name);
    const hasRoom = turns.waiting.length === 0 && this.#hasRoom(name, turns, size);
    if (hasRoom || turns.waiting.length >= MAX_WAITING) {
      turns.taken += size;
      return null;
    }
    return new Promise((begin) => turns.waiting.push({ size, begin }));
  }

  #hasRoom(name: string, { taken }: Turns, size: number): boolean {
    return taken === 0 || taken + size <= this.#sizeOfTurn(name);
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
      else this.#run(name, turns);
    }
    if (this.#turns.size > 0) setImmediate(() => this.#next());
  }

  #run(name: string, turns: Turns): void {
    turns.taken = 0;
    let count = 0;
    for (const { size } of turns.waiting) {
      if (!this.#hasRoom(name, turns, size)) break;
      turns.taken += size;
      count += 1;
    }
    for (const { begin } of turns.waiting.splice(0, count)) begin();
  }
}
