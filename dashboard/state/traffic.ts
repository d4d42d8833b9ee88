// How long jobs waited for a worker in the last hour, from the jobs that the socket reports. The object reports
// finished jobs per minute (`board.ts`).

import { computed, signal } from "@preact/signals";
import type { ActivityMinute, LiveJob, LiveMessage } from "../../contract/live.ts";
import { now } from "./clock.ts";

export const MINUTE_MS = 60_000;
const SHOWN_MINUTES = 60;
const MAX_WAITS = 500;
const MAX_SEEN = 5000;

const waitsByMinute = new Map<number, number[]>();
const seenJobs = new Set<string>();

/** Grows when the numbers change. */
export const trafficVersion = signal(0);

const waitsAt = (at: number): number[] => {
  const minute = Math.floor(at / MINUTE_MS);
  let waits = waitsByMinute.get(minute);
  if (waits === undefined) {
    waits = [];
    waitsByMinute.set(minute, waits);
    for (const old of waitsByMinute.keys()) if (old < minute - 2 * SHOWN_MINUTES) waitsByMinute.delete(old);
  }
  return waits;
};

type Waited = Pick<LiveJob, "id" | "lease" | "created_at" | "run_at" | "assigned_at">;

const noteWait = (job: Waited): void => {
  // Only a first lease shows the queue's waiting time; later ones waited for a back-off.
  if (job.assigned_at === null || job.lease !== 1 || seenJobs.has(job.id)) return;
  if (seenJobs.size > MAX_SEEN) seenJobs.clear();
  seenJobs.add(job.id);
  const assignedAt = Date.parse(job.assigned_at);
  const waitingSince = Math.max(Date.parse(job.created_at), job.run_at === null ? 0 : Date.parse(job.run_at));
  const waits = waitsAt(assignedAt);
  if (waits.length < MAX_WAITS) waits.push(Math.max(0, assignedAt - waitingSince));
};

export const observe = (messages: readonly LiveMessage[]): void => {
  for (const message of messages) {
    if (message.type === "snapshot") for (const job of message.jobs) noteWait(job);
    if (message.type === "job.updated") noteWait(message.job);
  }
  trafficVersion.value += 1;
};

export const resetTraffic = (): void => {
  waitsByMinute.clear();
  seenJobs.clear();
};

const median = (values: readonly number[]): number | null => {
  if (values.length === 0) return null;
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? null;
};

/** What shows it is drawn again when a minute begins, not with each second. */
const thisMinute = computed(() => Math.floor(now.value / MINUTE_MS));

/** The minutes shown, as the instants at which they begin. The last one is incomplete. */
const shownMinutes = (): number[] =>
  Array.from({ length: SHOWN_MINUTES }, (_, index) => (thisMinute.value - SHOWN_MINUTES + 1 + index) * MINUTE_MS);

export interface Throughput {
  /** In seconds, as the chart needs. */
  readonly at: number[];
  readonly completed: number[];
  readonly failed: number[];
}

export const throughput = (minutes: readonly ActivityMinute[]): Throughput => {
  const byStart = new Map(minutes.map((minute) => [Date.parse(minute.at), minute]));
  const found = shownMinutes().map((at) => ({ at, minute: byStart.get(at) }));
  return {
    at: found.map(({ at }) => at / 1000),
    completed: found.map(({ minute }) => minute?.completed ?? 0),
    failed: found.map(({ minute }) => minute?.failed ?? 0),
  };
};

export interface WaitSeries {
  readonly at: number[];
  readonly medianSeconds: (number | null)[];
  readonly longestSeconds: (number | null)[];
}

export const waiting = (): WaitSeries => {
  const found = shownMinutes().map((at) => ({ at, waits: waitsByMinute.get(at / MINUTE_MS) ?? [] }));
  const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
  return {
    at: found.map(({ at }) => at / 1000),
    medianSeconds: found.map(({ waits }) => seconds(median(waits))),
    longestSeconds: found.map(({ waits }) => (waits.length === 0 ? null : Math.max(...waits) / 1000)),
  };
};
