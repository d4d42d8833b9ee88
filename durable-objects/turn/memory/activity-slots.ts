// What happened to jobs, by slots.

import { type Activity, noteLevel, quietAfter } from "../../../domain/insight/activity.ts";
import type { SlotKind } from "../../../domain/insight/slots.ts";
import type { Job } from "../../../domain/job/job.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import type { OpenStatus } from "../../store/jobs/open-counts.ts";
import type { Store } from "../../store/open.ts";
import type { ActivitySlot } from "../../store/sums/activity.ts";
import { FillingSlots } from "./filling-slots.ts";

type SlotStore = Store["activity"];
type Open = Readonly<Record<OpenStatus, number>>;

const begin = (store: SlotStore, kind: SlotKind, at: number): Activity => {
  const newest = store.newest(kind, at);
  return newest?.at === at ? newest.activity : quietAfter(newest?.activity ?? null);
};

export class ActivitySlots {
  readonly #slots = new FillingSlots<Activity, SlotStore>(begin);

  /** A job has changed; `open` counts the open jobs after it. */
  noteChange(store: SlotStore, before: Job | null, { status }: Job, open: Open, nowAt: number): void {
    if (before?.status === status) return;
    this.#slots.note(store, nowAt, (activity) => {
      if (before === null) activity.created += 1;
      if (isFinal(status)) activity[status] += 1;
      noteLevel(activity.underWay, open.assigned + open.running);
      noteLevel(activity.waiting, open.pending);
    });
  }

  /** `nanoUsd` is negative if an earlier estimate was too high; no slot falls below zero by it. */
  noteSpent(store: SlotStore, nanoUsd: number, nowAt: number): void {
    this.#slots.note(store, nowAt, (activity) => {
      activity.nanoUsd = Math.max(0, activity.nanoUsd + nanoUsd);
    });
  }

  storeAll(store: SlotStore): void {
    this.#slots.storeAll(store);
  }

  /** Oldest first, from the slot before `at`, the slot that is being filled included. */
  since(store: SlotStore, kind: SlotKind, at: number): readonly ActivitySlot[] {
    const before = store.newest(kind, at - 1);
    const filling = this.#slots.of(kind);
    const stored = [...(before === null ? [] : [before]), ...store.since(kind, at)];
    if (filling === undefined) return stored;
    return [...stored.filter((one) => one.at !== filling.at), { at: filling.at, activity: filling.content }];
  }
}
