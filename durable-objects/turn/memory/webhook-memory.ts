// What webhooks were told, are to be told, and are being told.

import type { Config } from "../../../domain/config.ts";
import type { Fleet } from "../../../domain/fleet/fleet.ts";
import { offlineFromAt } from "../../../domain/fleet/worker.ts";
import type { Idleness } from "../../store/fleet/idle-workers.ts";
import type { Store } from "../../store/open.ts";

export interface DeliveryMemory {
  /** Those whose try has no outcome yet, with their webhook. */
  readonly underWay: Map<string, string>;
  /** By webhook, how many wait for a try or its outcome. */
  readonly pending: Map<string, number>;
  /** Webhooks whose last try took long. */
  readonly slow: Set<string>;
}

export const loadDeliveries = (store: Store): DeliveryMemory => ({
  underWay: new Map(),
  pending: store.deliveries.pendingCounts(),
  slow: new Set(),
});

export interface NoticeMemory {
  /** Workers whose silence was announced. */
  readonly silent: Set<string>;
  /** No other worker falls silent before this. */
  silenceAt: number;
  /** Workers without work; empty unless a webhook asks for them. */
  readonly idle: Map<string, Idleness>;
  /** No group has waited for capacity for long enough before this. */
  wantedAt: number;
}

export const loadNotices = (store: Store, fleet: Fleet, config: Config, nowAt: number): NoticeMemory => {
  const silent = store.silentWorkers.all();
  return { silent, silenceAt: firstSilenceAt(fleet, silent, config), idle: store.idleWorkers.all(), wantedAt: nowAt };
};

/** Not after the first silence: pings may have come since the stored signs of life. */
const firstSilenceAt = (fleet: Fleet, silent: ReadonlySet<string>, { presence }: Config): number =>
  [...fleet.members()]
    .filter(({ worker }) => !silent.has(worker.instance))
    .reduce(
      (earliest, { lastSeenAt }) => Math.min(earliest, offlineFromAt(lastSeenAt, presence.offlineAfterMs)),
      Number.POSITIVE_INFINITY,
    );
