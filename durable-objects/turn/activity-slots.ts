// The slots of activity that are being filled, in memory: stored when they end, and with each drain, as the counters
// are. Sleep loses nothing, a crash the figures of a moment.

import { type Activity, noteLevel, quietAfter } from "../../domain/insight/activity.ts";
import { SLOT_KINDS, type SlotKind, slotAt } from "../../domain/insight/slots.ts";
import type { Job } from "../../domain/job/job.ts";
import type { OpenStatus } from "../store/jobs/open-counts.ts";
import type { Store } from "../store/open.ts";
import type { ActivitySlot } from "../store/sums/activity.ts";

type SlotStore = Store["activity"];
type Open = Readonly<Record<OpenStatus, number>>;

interface Filling extends ActivitySlot {
  isStored: boolean;
}

export class ActivitySlots {
  readonly #filling = new Map<SlotKind, Filling>();

  /** A job has changed; `open` counts the open jobs after it. */
  noteChange(store: SlotStore, before: Job | null, { status }: Job, open: Open, nowAt: number): void {
    if (before?.status === status) return;
    this.#note(store, nowAt, (activity) => {
      if (before === null) activity.created += 1;
      if (status === "completed" || status === "failed" || status === "cancelled") activity[status] += 1;
      noteLevel(activity.underWay, open.assigned + open.running);
      noteLevel(activity.waiting, open.pending);
    });
  }

  noteSpent(store: SlotStore, nanoUsd: number, nowAt: number): void {
    this.#note(store, nowAt, (activity) => {
      activity.nanoUsd += nanoUsd;
    });
  }

  storeAll(store: SlotStore): void {
    for (const [kind, filling] of this.#filling) this.#store(store, kind, filling);
  }

  /** Oldest first, from the slot before `at`, the slot that is being filled included. */
  since(store: SlotStore, kind: SlotKind, at: number): readonly ActivitySlot[] {
    const before = store.newest(kind, at - 1);
    const filling = this.#filling.get(kind);
    const stored = [...(before === null ? [] : [before]), ...store.since(kind, at)];
    return filling === undefined ? stored : [...stored.filter((one) => one.at !== filling.at), filling];
  }

  #note(store: SlotStore, nowAt: number, change: (activity: Activity) => void): void {
    for (const kind of SLOT_KINDS) {
      const filling = this.#at(store, kind, slotAt(kind, nowAt));
      change(filling.activity);
      filling.isStored = false;
    }
  }

  #at(store: SlotStore, kind: SlotKind, at: number): Filling {
    const known = this.#filling.get(kind);
    if (known?.at === at) return known;
    if (known !== undefined) this.#store(store, kind, known);
    const newest = store.newest(kind, at);
    const made =
      newest?.at === at
        ? { ...newest, isStored: true }
        : { at, activity: quietAfter(newest?.activity ?? null), isStored: true };
    store.removeOld(at);
    this.#filling.set(kind, made);
    return made;
  }

  #store(store: SlotStore, kind: SlotKind, filling: Filling): void {
    if (filling.isStored) return;
    store.put(kind, { at: filling.at, activity: filling.activity });
    filling.isStored = true;
  }
}
