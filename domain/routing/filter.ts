// What a filter of the router is, and what it decides by.

import type { Strategy, Weights } from "../config.ts";
import type { Bits } from "../fleet/bits.ts";
import type { Fleet, Member } from "../fleet/fleet.ts";
import type { Priority, Requirements, Tier } from "../words/requirements.ts";
import type { BatchRules } from "./batch-room.ts";
import type { SwapRules } from "./swapping.ts";

/** What is asked of a worker; `waitingSinceAt` is known if one job is meant, and not its whole group. */
export interface Wanted extends Requirements {
  readonly waitingSinceAt?: number | undefined;
  readonly urgency?: Priority | undefined;
}

export interface RouteRequest extends Wanted {
  readonly tier: Tier | null;
  readonly urgency: Priority;
  /** The job's conversation and the worker of its previous turn; absent without a conversation. */
  readonly session?: { readonly worker: string | null } | undefined;
}

/** The tenant's state for routing, at one instant. */
export interface RoutePolicy {
  readonly nowAt: number;
  readonly offlineAfterMs: number;
  readonly strategy: Strategy;
  readonly chain: readonly string[];
  readonly weights: Weights;
  /** Providers that take no new job now, with the reason: a back-off, or `max_concurrent` reached. */
  readonly closedProviders: ReadonlyMap<string, string>;
  /** Another worker than the built-in echo is alive: echo answers only jobs that ask for it. */
  readonly isEchoAside: boolean;
  /** By provider that the coordinator calls as a fallback, how long a job waits for another worker. */
  readonly edgeAfterMs: ReadonlyMap<string, number>;
  readonly priceOf: (provider: string, model: string | null) => number | null;
  /** Why a worker or a batch may get no line now; absent where no batch is under way. */
  readonly batchRules?: BatchRules | undefined;
  /** What waits for which model; absent where nothing is configured for swapping models. */
  readonly swapRules?: SwapRules | undefined;
  /** The last sign of life of a worker that memory considers silent; its socket may have answered pings since. */
  readonly lastSignOf: (member: Member) => number;
}

/** A filter left no worker: the workers it examined, and the request. */
export interface Nobody {
  readonly before: Bits;
  readonly fleet: Fleet;
  readonly asked: Wanted;
  readonly policy: RoutePolicy;
}

/** What a machine that is woken, or a place that becomes free, would change for jobs that wait. */
export const CAPACITY_REASONS = ["no_worker", "all_full", "all_paused", "all_unavailable"] as const;
export type CapacityReason = (typeof CAPACITY_REASONS)[number];

export interface Filter {
  readonly name: string;
  /** A worker that it refuses lacks only a free place, its own or its provider's. */
  readonly isAboutRoom?: true;
  /** Why this worker may not have this job; null if it may. */
  readonly refuses: (member: Member, asked: Wanted, policy: RoutePolicy, fleet: Fleet) => string | null;
  /** Whether it can refuse any worker at all, given the request and the policy. */
  readonly applies?: (asked: Wanted, policy: RoutePolicy) => boolean;
  /** The same check for the whole fleet: removes refused workers from `left`. */
  readonly narrow: (left: Bits, fleet: Fleet, asked: Wanted, policy: RoutePolicy) => void;
  /**
   * Why the fleet has no capacity, if this filter refused the last workers; null if one more worker would not help.
   * Absent: `all_full` where it is about room, else `no_worker`.
   */
  readonly whyNoCapacity?: (asked: Requirements) => CapacityReason | null;
  /** Why no worker may have this job, in one line, if this filter refused the last ones. */
  readonly whyNobody: (nobody: Nobody) => string;
}

/** Whether it can refuse any worker at all. */
export const mayRefuse = (filter: Filter, asked: Wanted, policy: RoutePolicy): boolean =>
  filter.applies?.(asked, policy) !== false;

export const firstOf = ({ before, fleet }: Nobody): Member => fleet.at(before.first());

export const whoIs = (nobody: Nobody): string => {
  const many = nobody.before.count();
  return many === 1 ? `worker "${firstOf(nobody).worker.instance}" is` : `all ${many} matching workers are`;
};
