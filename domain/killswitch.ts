// The killswitch: one level for the tenant. While it is active no job is assigned. Each level includes the lower ones:
//
// 1 work goes back to pending, nothing is assigned    2 schedules create no jobs
// 3 creating jobs is refused                           4 work is cancelled, every other write is refused

import type { Refusal } from "./words/refusal.ts";
import { err, ok, type Result } from "./words/result.ts";

export interface Killswitch {
  readonly level: number;
  readonly reason: string | null;
  readonly activatedAt: number | null;
  readonly activatedBy: string | null;
  /** Grows with each activation from level 0; workers confirm an activation by its number. */
  readonly haltActivation: number;
  /** Grows with each order to pause; a worker is paused by it unless it, or all workers, were resumed since. */
  readonly pauseEpoch: number;
  /** The last epoch after which all workers were resumed. */
  readonly resumedEpoch: number;
  readonly haltedJobs: number;
  readonly pausedWorkers: number;
}

export const KILLSWITCH_OFF: Killswitch = {
  level: 0,
  reason: null,
  activatedAt: null,
  activatedBy: null,
  haltActivation: 0,
  pauseEpoch: 0,
  resumedEpoch: 0,
  haltedJobs: 0,
  pausedWorkers: 0,
};

export const FULL_HALT = 4;

/** The kind of a write, which decides at which level it is refused. */
export type WriteKind = "dispatch" | "create" | "other" | "exempt";

const REFUSED_FROM: Record<WriteKind, number> = { dispatch: 1, create: 3, other: 4, exempt: Number.POSITIVE_INFINITY };

export const permit = (killswitch: Killswitch, kind: WriteKind): Result<null, Refusal> =>
  killswitch.level >= REFUSED_FROM[kind]
    ? err({ code: "killswitch_active", level: killswitch.level, reason: killswitch.reason ?? "" })
    : ok(null);

/** Whether the killswitch pauses a worker that was last resumed after `resumedEpoch`. */
export const isHaltedBy = (killswitch: Killswitch, resumedEpoch: number): boolean =>
  Math.max(resumedEpoch, killswitch.resumedEpoch) < killswitch.pauseEpoch;

/** For a new worker: paused like all others while the killswitch is active. */
export const epochOfNewWorker = ({ level, pauseEpoch }: Killswitch): number =>
  level > 0 ? pauseEpoch - 1 : pauseEpoch;

export const stopsSchedules = ({ level }: Pick<Killswitch, "level">): boolean => level >= 2;
export const cancelsWork = (killswitch: Killswitch): boolean => killswitch.level >= FULL_HALT;

/**
 * First activation, raising or lowering. The caller counts what it halts and pauses; counts add up during one
 * activation. No job is assigned during an activation, so workers confirm it once.
 */
export const engage = (
  current: Killswitch,
  order: { level: number; reason: string | null; by: string },
  nowAt: number,
): Killswitch => ({
  level: order.level,
  reason: order.reason,
  activatedAt: current.level > 0 ? current.activatedAt : nowAt,
  activatedBy: order.by,
  haltActivation: current.level > 0 ? current.haltActivation : current.haltActivation + 1,
  pauseEpoch: current.pauseEpoch + 1,
  resumedEpoch: current.resumedEpoch,
  haltedJobs: current.level > 0 ? current.haltedJobs : 0,
  pausedWorkers: current.level > 0 ? current.pausedWorkers : 0,
});

/** As it was before an activation of which nothing is to stay; what workers have confirmed is not asked for again. */
export const restored = (current: Killswitch, earlier: Killswitch): Killswitch => ({
  ...earlier,
  haltActivation: current.haltActivation,
});

export const clear = (current: Killswitch, resumeAll: boolean): Killswitch => ({
  ...KILLSWITCH_OFF,
  haltActivation: current.haltActivation,
  pauseEpoch: current.pauseEpoch,
  resumedEpoch: resumeAll ? current.pauseEpoch : current.resumedEpoch,
});
