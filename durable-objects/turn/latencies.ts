// The slots of latency that are being filled, in memory: stored when they end, and with each drain, as the counters are.
// Sleep loses nothing, a crash the figures of a moment.

import {
  DIMENSIONS,
  type Dimension,
  noSlots,
  note,
  observationOf,
  type Slot,
  type Slots,
  valuesOf,
} from "../../domain/insight/latency.ts";
import { SLOT_KINDS, type SlotKind, slotAt } from "../../domain/insight/slots.ts";
import type { Job, Usage } from "../../domain/job/job.ts";
import type { Store } from "../store/open.ts";

type SlotStore = Store["latency"];

interface Filling {
  readonly at: number;
  readonly slots: Slots;
  isStored: boolean;
}

export class Latencies {
  readonly #filling = new Map<SlotKind, Filling>();

  /** An attempt has completed. */
  note(store: SlotStore, job: Job, usage: Usage | null, nowAt: number): void {
    const observed = observationOf(job, usage);
    const values = valuesOf(job);
    for (const kind of SLOT_KINDS) {
      const filling = this.#at(store, kind, slotAt(kind, nowAt));
      for (const by of DIMENSIONS) note(filling.slots[by], values[by], observed);
      filling.isStored = false;
    }
  }

  #at(store: SlotStore, kind: SlotKind, at: number): Filling {
    const known = this.#filling.get(kind);
    if (known?.at === at) return known;
    if (known !== undefined) {
      this.#store(store, kind, known);
      store.removeOld(at);
    }
    const made: Filling = { at, slots: store.find(kind, at) ?? noSlots(), isStored: true };
    this.#filling.set(kind, made);
    return made;
  }

  #store(store: SlotStore, kind: SlotKind, filling: Filling): void {
    if (filling.isStored) return;
    store.put(kind, filling.at, filling.slots);
    filling.isStored = true;
  }

  storeAll(store: SlotStore): void {
    for (const [kind, filling] of this.#filling) this.#store(store, kind, filling);
  }

  /** Oldest first, the slot that is being filled included. */
  since(store: SlotStore, kind: SlotKind, by: Dimension, at: number): { readonly at: number; readonly slot: Slot }[] {
    const filling = this.#filling.get(kind);
    const stored = store.since(kind, by, at).filter((one) => one.at !== filling?.at);
    return filling === undefined || filling.at < at ? stored : [...stored, { at: filling.at, slot: filling.slots[by] }];
  }
}
