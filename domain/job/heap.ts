// A binary heap of items that know where they stand, so that one whose order has changed moves in logarithmic time.

export interface Heaped {
  /** Its index in the heap; -1 outside of it. */
  at: number;
}

export class Heap<Item extends Heaped> {
  readonly #items: Item[] = [];
  readonly #isBefore: (one: Item, other: Item) => boolean;

  constructor(isBefore: (one: Item, other: Item) => boolean) {
    this.#isBefore = isBefore;
  }

  get size(): number {
    return this.#items.length;
  }

  get first(): Item | null {
    return this.#items[0] ?? null;
  }

  add(item: Item): void {
    item.at = this.#items.length;
    this.#items.push(item);
    this.#rise(item);
  }

  remove(item: Item): void {
    const last = this.#items.pop();
    if (last !== undefined && last !== item) {
      this.#put(last, item.at);
      this.moved(last);
    }
    item.at = -1;
  }

  /** Its order has changed. */
  moved(item: Item): void {
    this.#rise(item);
    this.#sink(item);
  }

  /** The first ones in order, as many as are asked for; n of them cost n log n, however many there are. */
  *inOrder(): Generator<Item> {
    const next = new Heap<{ at: number; readonly item: Item }>((one, other) => this.#isBefore(one.item, other.item));
    if (this.first !== null) next.add({ at: -1, item: this.first });
    for (let found = next.first; found !== null; found = next.first) {
      next.remove(found);
      yield found.item;
      for (const child of [2 * found.item.at + 1, 2 * found.item.at + 2]) {
        const item = this.#items[child];
        if (item !== undefined) next.add({ at: -1, item });
      }
    }
  }

  #put(item: Item, at: number): void {
    this.#items[at] = item;
    item.at = at;
  }

  #rise(item: Item): void {
    while (item.at > 0) {
      const parent = this.#items[(item.at - 1) >> 1];
      if (parent === undefined || !this.#isBefore(item, parent)) return;
      this.#swap(parent, item);
    }
  }

  #sink(item: Item): void {
    for (;;) {
      const [left, right] = [this.#items[2 * item.at + 1], this.#items[2 * item.at + 2]];
      if (left === undefined) return;
      const child = right !== undefined && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(child, item)) return;
      this.#swap(item, child);
    }
  }

  /** `upper` goes down, `lower` goes up. */
  #swap(upper: Item, lower: Item): void {
    const { at } = upper;
    this.#put(upper, lower.at);
    this.#put(lower, at);
  }
}
