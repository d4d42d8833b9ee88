// A clock that was set back. What lies in the past by its nature counts as of now, in memory and in the rows: otherwise a
// silent worker would count as alive and keep its jobs, and a job would pass its timeout, until the clock is where it
// was. A worker is inside its hours or outside them by this clock. An instant that was promised (a run, the end of a
// back-off) stays, and so do the platform's instants of pings on open sockets.

import { openingNow } from "../../domain/fleet/hours.ts";
import type { Job } from "../../domain/job/job.ts";
import { heardAgain } from "../../domain/job/lease.ts";
import { spentThisMonth } from "../turn/memory/memory.ts";
import type { Turn } from "../turn/turn.ts";
import { lookForSilence } from "./silence.ts";

export const heedSetBack = (turn: Turn): void => {
  const { memory, nowAt } = turn;
  memory.watch.lookedAt = Math.min(memory.watch.lookedAt, nowAt);
  memory.storage.sizes.readAt = Math.min(memory.storage.sizes.readAt, nowAt);
  memory.spending = spentThisMonth(turn.store, nowAt);
  turn.due(memory.spending.nextDayAt(nowAt));
  for (const [instance, goneAt] of memory.sockets.goneAt) memory.sockets.goneAt.set(instance, Math.min(goneAt, nowAt));
  const early = [...memory.fleet.members()].filter(
    ({ lastSeenAt, worker }) => Math.max(lastSeenAt, worker.lastHeartbeatAt, worker.opening?.sinceAt ?? 0) > nowAt,
  );
  // A job's sign of life is its worker's.
  if (early.length === 0) return;
  for (const { lastSeenAt, worker } of early) {
    const { instance, opening } = worker;
    const lastHeartbeatAt = Math.min(Math.max(lastSeenAt, worker.lastHeartbeatAt), nowAt);
    turn.putWorker({ ...worker, lastHeartbeatAt, opening: opening && openingNow(opening, nowAt) });
    memory.fleet.noteSeen(instance, lastHeartbeatAt);
    // It may have been silent on this clock already, or have opened, so jobs may wait for it.
    turn.freedWorkers.add(instance);
  }
  // Of those that have closed.
  turn.reopenAvoiding();
  for (const job of turn.store.jobs.allLeased()) {
    if (heardAtOf(turn, job) > nowAt) turn.record(job, heardAgain(job, nowAt));
  }
  memory.watch.forgetAt = Math.min(memory.watch.forgetAt, nowAt + memory.config.presence.forgetAfterMs);
  lookForSilence(turn);
};

const heardAtOf = ({ memory }: Turn, { id, assignedAt, heartbeatAt }: Job): number =>
  Math.max(heartbeatAt ?? assignedAt ?? 0, memory.beats.get(id)?.heardAt ?? 0);
