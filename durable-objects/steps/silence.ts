// The silence of workers, for the webhooks that ask for it: announced once each time, until the worker is back. Silence
// is no event, so memory keeps the instant before which no worker can fall silent.

import { toIso } from "../../contract/words/field.ts";
import { isOffline, offlineFromAt } from "../../domain/fleet/worker.ts";
import { isWanted } from "../../domain/webhook.ts";
import type { Turn } from "../turn/turn.ts";
import { isSilent, lastSignOf } from "./last-sign.ts";

export const isSilenceWanted = (turn: Turn): boolean => isWanted(turn.memory.webhooks, "worker.offline");

/** When a worker may next become offline by its silence; null if no webhook selects the event. */
export const nextSilenceAt = (turn: Turn): number | null =>
  isSilenceWanted(turn) && Number.isFinite(turn.memory.notices.silenceAt) ? turn.memory.notices.silenceAt : null;

/** The worker is new, or back: its next silence is announced. */
export const awaitSilence = (turn: Turn, instance: string): void => {
  forgetSilence(turn, instance);
  awaitFrom(turn, turn.nowAt);
  turn.due(nextSilenceAt(turn));
};

const awaitFrom = ({ memory: { notices, config } }: Turn, lastSeenAt: number): void => {
  notices.silenceAt = Math.min(notices.silenceAt, offlineFromAt(lastSeenAt, config.presence.offlineAfterMs));
};

/** The worker is forgotten. */
export const forgetSilence = (turn: Turn, instance: string): void => {
  if (turn.memory.notices.silent.has(instance)) noteSilence(turn, instance, false);
};

/** Another time until a worker is offline, or the first webhook for it: the next sweep looks at all workers. */
export const lookForSilence = (turn: Turn): void => {
  turn.memory.notices.silenceAt = turn.nowAt;
  turn.due(nextSilenceAt(turn));
};

/** Announces each worker that went offline, once until it is back. */
export const announceSilence = (turn: Turn): void => {
  const { offlineAfterMs } = turn.memory.config.presence;
  turn.memory.notices.silenceAt = Number.POSITIVE_INFINITY;
  for (const member of turn.memory.fleet.members()) {
    const { instance, provider } = member.worker;
    const lastSeenAt = lastSignOf(turn, member);
    const isKnown = turn.memory.notices.silent.has(instance);
    const isAway = isOffline(lastSeenAt, offlineAfterMs, turn.nowAt);
    if (!isAway) awaitFrom(turn, lastSeenAt);
    if (isAway === isKnown) continue;
    noteSilence(turn, instance, isAway);
    if (!isAway) continue;
    turn.log("warn", "worker.offline", { worker: instance });
    const data = { instance, provider, last_heartbeat: toIso(lastSeenAt) };
    turn.announce("worker.offline", data);
  }
};

const noteSilence = (turn: Turn, instance: string, isAway: boolean): void => {
  const { silent } = turn.memory.notices;
  if (isAway) {
    silent.add(instance);
    turn.store.silentWorkers.put(instance);
  } else {
    silent.delete(instance);
    turn.store.silentWorkers.remove(instance);
  }
};

/** A webhook was created or changed. Workers that were offline before any selected the event are not announced. */
export const noteSilentBefore = (turn: Turn, wasWanted: boolean): void => {
  if (wasWanted || !isSilenceWanted(turn)) return;
  for (const member of turn.memory.fleet.members()) noteSilence(turn, member.worker.instance, isSilent(turn, member));
  lookForSilence(turn);
};
