// The waiting jobs of one group, or of one of its lanes, in order. Most join at the end and leave at the head.

import { leadingCount } from "../words/leading-count.ts";
import { isBefore, type Place } from "./queue.ts";

export class Line {
  readonly #places: Place[] = [];

  get length(): number {
    return this.#places.length;
  }

  get head(): Place | null {
    return this.#places[0] ?? null;
  }

  /** The id of the one created first; looks at all. */
  get oldest(): string | null {
    return this.#places.reduce<string | null>((id, place) => (id === null || place.id < id ? place.id : id), null);
  }

  /** In order. */
  get places(): readonly Place[] {
    return this.#places;
  }

  /** How many stand before this one: its index, or the one where it would be inserted. */
  before(place: Place): number {
    const last = this.#places.at(-1);
    if (last !== undefined && isBefore(last, place)) return this.#places.length;
    return leadingCount(this.#places, (other) => isBefore(other, place));
  }

  add(place: Place): void {
    this.#places.splice(this.before(place), 0, place);
  }

  remove(place: Place): void {
    const index = this.before(place);
    const there = this.#places[index];
    if (there?.id === place.id && there.orderKey === place.orderKey) this.#places.splice(index, 1);
  }
}
