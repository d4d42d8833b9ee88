// Workers whose state changes by time alone: a ping that wakes nothing brings one back, silence takes one away. While
// jobs wait, the sweep checks for that. It also forgets workers that stay offline.

import { forgetAfterMs } from "../../../domain/fleet/crowd.ts";
import type { Member } from "../../../domain/fleet/fleet.ts";
import { isOffline } from "../../../domain/fleet/worker.ts";
import { freeEcho, mayEchoBeFreed } from "../../placing/echo-aside.ts";
import { isSilent, lastSignOf } from "../../steps/last-sign.ts";
import type { Turn } from "../../turn/turn.ts";
import { forget } from "./workers.ts";

/** The shortest time between two checks, however short the heartbeat interval is. */
const LOOK_EVERY_AT_LEAST_MS = 1_000;
const FORGOTTEN_A_SWEEP = 500;

const silentButConnected = (turn: Turn): readonly number[] => {
  const { fleet, config } = turn.memory;
  return [...fleet.silentButConnected(turn.nowAt - config.presence.offlineAfterMs).members()];
};

/** When to check next whether a waiting job can go to a worker that pings again, that failed it before, or to echo. */
export const nextLookAt = (turn: Turn): number | null => {
  const { queue, killswitch, config, watch } = turn.memory;
  if (queue.count === 0 || killswitch.level > 0) return null;
  if (queue.avoiding.size === 0 && silentButConnected(turn).length === 0 && !mayEchoBeFreed(turn)) return null;
  return watch.lookedAt + Math.max(LOOK_EVERY_AT_LEAST_MS, config.presence.heartbeatIntervalMs);
};

/** Notices pings, and reopens the jobs that waited for another worker than those that failed them. */
export const lookAgain = (turn: Turn): void => {
  const { fleet, config } = turn.memory;
  turn.memory.watch.lookedAt = turn.nowAt;
  turn.reopenAvoiding();
  for (const slot of silentButConnected(turn)) {
    const member = fleet.at(slot);
    const signAt = lastSignOf(turn, member);
    if (isOffline(signAt, config.presence.offlineAfterMs, turn.nowAt)) continue;
    fleet.noteSeen(member.worker.instance, signAt);
    turn.freedWorkers.add(member.worker.instance);
  }
  freeEcho(turn);
};

/** The earliest time at which a worker is to be forgotten. */
export const nextForgetAt = (turn: Turn): number | null => {
  const { fleet, watch } = turn.memory;
  const { forgetAt } = watch;
  return fleet.size === 0 || !Number.isFinite(forgetAt) ? null : forgetAt;
};

/** What an operator said of it, and what it holds, is kept as long as may be. */
const isKept = ({ worker, load }: Member): boolean => worker.pause !== null || worker.opening !== null || load > 0;

/** Forgets workers that have been offline for long, the longest first, and says when the next may be due. */
export const forgetAbsent = (turn: Turn): void => {
  const { fleet, config } = turn.memory;
  const forgottenAt = (member: Member): number =>
    lastSignOf(turn, member) + (isKept(member) ? config.presence.forgetAfterMs : forgetAfterMs(fleet, config.presence));
  const silent = [...fleet.members()].filter((member) => forgottenAt(member) <= turn.nowAt && isSilent(turn, member));
  silent.sort((one, other) => one.lastSeenAt - other.lastSeenAt);
  // Each that goes may leave the others room to stay.
  for (const member of silent.slice(0, FORGOTTEN_A_SWEEP)) if (forgottenAt(member) <= turn.nowAt) forget(turn, member);
  turn.memory.watch.forgetAt = [...fleet.members()].reduce(
    (earliest, member) => Math.min(earliest, Math.max(forgottenAt(member), turn.nowAt)),
    Number.POSITIVE_INFINITY,
  );
  turn.due(nextForgetAt(turn));
};
