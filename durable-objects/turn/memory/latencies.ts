// How long jobs wait and run, by slots.

import {
  DIMENSIONS,
  type Dimension,
  noSlots,
  note,
  observationOf,
  type Slot,
  type Slots,
  valuesOf,
} from "../../../domain/insight/latency.ts";
import type { SlotKind } from "../../../domain/insight/slots.ts";
import type { Job, Usage } from "../../../domain/job/job.ts";
import type { Store } from "../../store/open.ts";
import { FillingSlots } from "./filling-slots.ts";

type SlotStore = Store["latency"];

export class Latencies {
  readonly #slots = new FillingSlots<Slots, SlotStore>((store, kind, at) => store.find(kind, at) ?? noSlots());

  /** An attempt has completed. */
  note(store: SlotStore, job: Job, usage: Usage | null, nowAt: number): void {
    const observed = observationOf(job, usage);
    const values = valuesOf(job);
    this.#slots.note(store, nowAt, (slots) => {
      for (const by of DIMENSIONS) note(slots[by], values[by], observed);
    });
  }

  storeAll(store: SlotStore): void {
    this.#slots.storeAll(store);
  }

  /** Oldest first, the slot that is being filled included. */
  since(store: SlotStore, kind: SlotKind, by: Dimension, at: number): { readonly at: number; readonly slot: Slot }[] {
    const filling = this.#slots.of(kind);
    const stored = store.since(kind, by, at).filter((one) => one.at !== filling?.at);
    return filling === undefined || filling.at < at
      ? stored
      : [...stored, { at: filling.at, slot: filling.content[by] }];
  }
}
