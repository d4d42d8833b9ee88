// The states that an operator looks for in a fleet, and the filter and totals of the worker list. Pure. Invariant: a
// worker may have several states, so their counts do not add up to the fleet; why it takes no jobs is one of them.

import { isBlameless } from "./outcomes.ts";
import { type Standing, standingOf } from "./standing.ts";
import type { Outcome, Worker, WorkerView } from "./worker.ts";

export const WORKER_STATES = [
  "failing",
  "offline",
  "paused",
  "unavailable",
  "busy",
  "online",
  "idle",
  "unconfirmed",
] as const;
export type WorkerState = (typeof WORKER_STATES)[number];

/** Fewer say little about a worker. */
const FEWEST_OUTCOMES = 3;
const FAILING_FROM = 1 / 3;

/** Its recent jobs without those that failed through the fault of another. */
const countedOf = ({ outcomes }: Pick<Worker, "outcomes">): readonly Outcome[] =>
  outcomes.filter((one) => !isBlameless(one));

/** Share of its recent jobs that failed through its own fault; null if it has finished none. */
export const failureRateOf = (worker: Pick<Worker, "outcomes">): number | null => {
  const counted = countedOf(worker);
  if (counted.length === 0) return null;
  return counted.filter((one) => one.outcome === "failed").length / counted.length;
};

const stands = ({ status, pause, unavailable }: WorkerView): Standing | null =>
  standingOf({ status, paused: pause !== null, unavailable });

const isPresent = (view: WorkerView): boolean => stands(view) !== "offline";

const IS_IN = {
  failing: (view) =>
    isPresent(view) &&
    countedOf(view.worker).length >= FEWEST_OUTCOMES &&
    (failureRateOf(view.worker) ?? 0) >= FAILING_FROM,
  offline: (view) => stands(view) === "offline",
  paused: (view) => stands(view) === "paused",
  unavailable: (view) => stands(view) === "unavailable",
  busy: ({ status }) => status === "busy",
  online: ({ status }) => status === "online",
  idle: ({ status }) => status === "idle",
  unconfirmed: ({ haltConfirmed }) => haltConfirmed === false,
} as const satisfies Record<WorkerState, (view: WorkerView) => boolean>;

export const isInState = (view: WorkerView, state: WorkerState): boolean => IS_IN[state](view);

export interface WorkerFilter {
  readonly q?: string | undefined;
  readonly state?: WorkerState | undefined;
  readonly provider?: string | undefined;
  readonly tag?: string | undefined;
  /** Only those with models of their own that say which; the service's own are none of them. */
  readonly tellsModels?: boolean;
}

/** `q` matches part of the name, the provider, a tag or a model; `naming` are the workers with such a model. */
export const isWanted = (
  view: WorkerView,
  { q, state, provider, tag, tellsModels }: WorkerFilter,
  naming: ReadonlySet<string> = new Set(),
): boolean => {
  const { worker } = view;
  if (provider !== undefined && worker.provider !== provider) return false;
  if (tag !== undefined && !worker.tags.includes(tag)) return false;
  if (tellsModels && (worker.isEdge || worker.machine?.tellsModels !== true)) return false;
  if (state !== undefined && !isInState(view, state)) return false;
  if (q === undefined) return true;
  if (naming.has(worker.instance)) return true;
  const words = q.toLowerCase();
  const texts = [worker.instance, worker.provider, worker.tagList];
  return texts.some((text) => text.toLowerCase().includes(words));
};

export const WORKER_SORTS = ["registered_at", "instance", "load", "failure_rate", "last_heartbeat"] as const;
export type WorkerSort = (typeof WORKER_SORTS)[number];

type Known = Pick<WorkerView, "worker">;

const ORDERS = {
  registered_at: (one: Known, other: Known) => other.worker.registeredAt - one.worker.registeredAt,
  instance: (one: Known, other: Known) => (one.worker.instance < other.worker.instance ? -1 : 1),
  load: (one, other) => shareOf(other) - shareOf(one),
  failure_rate: (one, other) => (failureRateOf(other.worker) ?? -1) - (failureRateOf(one.worker) ?? -1),
  last_heartbeat: (one, other) => one.lastSeenAt - other.lastSeenAt,
} as const satisfies Record<WorkerSort, (one: WorkerView, other: WorkerView) => number>;

const shareOf = ({ load, worker }: WorkerView): number => (worker.concurrency === 0 ? 0 : load / worker.concurrency);

export const newestFirst = <One extends Known>(workers: readonly One[]): One[] =>
  [...workers].sort((one, other) => ORDERS.registered_at(one, other) || ORDERS.instance(one, other));

/** The worst first; equal ones by name. */
export const inOrder = (views: readonly WorkerView[], sort: WorkerSort): WorkerView[] =>
  [...views].sort((one, other) => ORDERS[sort](one, other) || ORDERS.instance(one, other));

interface FleetGroup {
  readonly value: string;
  workers: number;
  places: number;
  load: number;
  failing: number;
  offline: number;
  paused: number;
}

export interface FleetSums {
  readonly states: Readonly<Record<WorkerState, number>>;
  readonly providers: readonly FleetGroup[];
  readonly tags: readonly FleetGroup[];
}

const addTo = (groups: Map<string, FleetGroup>, value: string, view: WorkerView): void => {
  const group = groups.get(value) ?? { value, workers: 0, places: 0, load: 0, failing: 0, offline: 0, paused: 0 };
  groups.set(value, group);
  group.workers += 1;
  group.failing += Number(IS_IN.failing(view));
  group.offline += Number(IS_IN.offline(view));
  group.paused += Number(IS_IN.paused(view));
  if (stands(view) !== null) return;
  group.places += view.worker.concurrency;
  group.load += Math.min(view.load, view.worker.concurrency);
};

const largestFirst = (groups: Map<string, FleetGroup>, limit: number): FleetGroup[] =>
  [...groups.values()]
    .sort((one, other) => other.workers - one.workers || (one.value < other.value ? -1 : 1))
    .slice(0, limit);

/** One pass over the fleet; a worker with several tags counts in each. */
export const sumsOf = (views: readonly WorkerView[], maxGroups: number): FleetSums => {
  const states = Object.fromEntries(WORKER_STATES.map((state) => [state, 0])) as Record<WorkerState, number>;
  const providers = new Map<string, FleetGroup>();
  const tags = new Map<string, FleetGroup>();
  for (const view of views) {
    for (const state of WORKER_STATES) if (IS_IN[state](view)) states[state] += 1;
    addTo(providers, view.worker.provider, view);
    for (const tag of view.worker.tags) addTo(tags, tag, view);
  }
  return { states, providers: largestFirst(providers, maxGroups), tags: largestFirst(tags, maxGroups) };
};
