// The slots of latency that are being filled, in memory: stored when they end, and with each drain, as the counters are.
// Sleep loses nothing, a crash the figures of a moment.

import { DIMENSIONS, type Dimension, note, observationOf, type Slot, valuesOf } from "../../domain/insight/latency.ts";
import { SLOT_KINDS, type SlotKind, slotAt } from "../../domain/insight/slots.ts";
import type { Job, Usage } from "../../domain/job/job.ts";
import type { Store } from "../store/open.ts";

type SlotStore = Store["latency"];

interface Filling {
  readonly kind: SlotKind;
  readonly by: Dimension;
  readonly at: number;
  readonly slot: Slot;
  isStored: boolean;
}

const nameOf = (kind: SlotKind, by: Dimension): string => `${kind} ${by}`;

const PLACES = SLOT_KINDS.flatMap((kind) => DIMENSIONS.map((by) => ({ kind, by, name: nameOf(kind, by) })));
type Place = (typeof PLACES)[number];

export class Latencies {
  readonly #filling = new Map<string, Filling>();

  /** An attempt has completed. */
  note(store: SlotStore, job: Job, usage: Usage | null, nowAt: number): void {
    const observed = observationOf(job, usage);
    const values = valuesOf(job);
    for (const place of PLACES) {
      const named = values[place.by];
      if (named.length === 0) continue;
      const filling = this.#at(store, place, slotAt(place.kind, nowAt));
      note(filling.slot, named, observed);
      filling.isStored = false;
    }
  }

  #at(store: SlotStore, { kind, by, name }: Place, at: number): Filling {
    const known = this.#filling.get(name);
    if (known?.at === at) return known;
    if (known !== undefined) {
      this.#store(store, known);
      store.removeOld(at);
    }
    const made: Filling = { kind, by, at, slot: store.find(kind, by, at) ?? new Map(), isStored: true };
    this.#filling.set(name, made);
    return made;
  }

  #store(store: SlotStore, filling: Filling): void {
    if (filling.isStored) return;
    store.put(filling.kind, filling.by, filling.at, filling.slot);
    filling.isStored = true;
  }

  storeAll(store: SlotStore): void {
    for (const filling of this.#filling.values()) this.#store(store, filling);
  }

  /** Oldest first, the one that is being filled included. */
  since(store: SlotStore, kind: SlotKind, by: Dimension, at: number): { readonly at: number; readonly slot: Slot }[] {
    const filling = this.#filling.get(nameOf(kind, by));
    const stored = store.since(kind, by, at).filter((one) => one.at !== filling?.at);
    return filling === undefined || filling.at < at ? stored : [...stored, filling];
  }
}
