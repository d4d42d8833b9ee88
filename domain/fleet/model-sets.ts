// The model lists of a fleet: each kept once for all workers that have an equal one, and searched for a model.

import { Bits } from "./bits.ts";
import { type ModelSet, withModel } from "./model-set.ts";
import { Postings } from "./postings.ts";

export class ModelSets {
  readonly #byId = new Map<string, ModelSet>();
  readonly #slots = new Postings();

  get size(): number {
    return this.#byId.size;
  }

  /** The kept list that equals this one. */
  shared(set: ModelSet): ModelSet {
    return this.#byId.get(set.id) ?? set;
  }

  place(set: ModelSet, slot: number, isPresent: boolean): void {
    this.#slots.place(set.id, slot, isPresent);
    if (isPresent) this.#byId.set(set.id, set);
    else if (!this.#slots.has(set.id)) this.#byId.delete(set.id);
  }

  /** Workers whose list has the model. */
  with(model: string): Bits {
    const bits = new Bits();
    const hasModel = withModel(model);
    for (const [id, set] of this.#byId) if (hasModel(set)) bits.union(this.#slots.with(id));
    return bits;
  }
}
