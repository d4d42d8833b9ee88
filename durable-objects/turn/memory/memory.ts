// What the object keeps in memory: indexes over its tables, rebuilt on waking and after a failed turn. Everything here
// can be read from the store again; a turn that changes a row changes its index in the same step.

import { type ConfigDocument, DEFAULT_CONFIG_DOCUMENT, toConfig } from "../../../contract/config/config.ts";
import type { KeyRecord } from "../../../domain/access/key.ts";
import { waitingOf } from "../../../domain/access/key-limits.ts";
import type { Config } from "../../../domain/config.ts";
import { forgetAfterMs } from "../../../domain/fleet/crowd.ts";
import { Fleet } from "../../../domain/fleet/fleet.ts";
import { Flows, placeOfLane } from "../../../domain/job/flows.ts";
import { Queue } from "../../../domain/job/queue.ts";
import { isHaltedBy, type Killswitch } from "../../../domain/killswitch.ts";
import { periodAt } from "../../../domain/money/period.ts";
import { Spending } from "../../../domain/money/spending.ts";
import type { Absence } from "../../../domain/tenant/absence.ts";
import { numberOf } from "../../../domain/tenant/tenant-database.ts";
import type { Webhook } from "../../../domain/webhook.ts";
import type { CatalogFacts } from "../../store/catalog.ts";
import type { OpenStatus } from "../../store/jobs/open-counts.ts";
import type { Store } from "../../store/open.ts";
import type { BudgetNotice, StoredConfig } from "../../store/settings.ts";
import { Affinity } from "./affinity.ts";
import { type BatchMemory, loadBatches } from "./batch-memory.ts";
import type { Counters } from "./counters.ts";
import { weightOf } from "./flow-turns.ts";
import { LateCosts } from "./late-costs.ts";
import { LiveTasks } from "./live-tasks.ts";
import { DEFAULT_BOUNDS, loadStorage, type StorageBounds, type StorageMemory } from "./storage-memory.ts";
import { isUsable } from "./usable-key.ts";
import { type DeliveryMemory, loadDeliveries, loadNotices, type NoticeMemory } from "./webhook-memory.ts";

export interface Memory {
  /** The tenant's move to or from another deployment; null while it is served here. */
  absence: Absence | null;
  config: Config;
  storedConfig: StoredConfig;
  killswitch: Killswitch;
  /** The workers that have confirmed an activation; null until it is asked for. */
  haltConfirmed: { readonly activation: number; readonly instances: Set<string> } | null;

  readonly fleet: Fleet;
  /** Workers whose outcomes are newer than their rows; the next drain stores them. */
  readonly unstoredWorkers: Set<string>;
  readonly watch: FleetWatch;
  readonly sockets: WorkerSockets;
  readonly edge: EdgeMemory;
  /** Model tasks that are not over, or whose cancelling their worker may not know. */
  readonly modelTasks: LiveTasks;

  readonly queue: Queue;
  /** Which of equal jobs is next. A reload forgets what was served to flows that run nothing. */
  readonly flows: Flows;
  /** Open jobs by status. */
  readonly open: Record<OpenStatus, number>;
  /** Open jobs of the keys with a limit on jobs, their waiting ones, and those of their people (`domain/access`). */
  readonly openByKey: Map<string, number>;
  /** Jobs that have sent their first output and are not final. */
  openStreams: number;
  /** By running job, the last heartbeat received, and the one in its row at that time. Empty after a reload. */
  readonly beats: Map<string, { readonly storedAt: number | null; readonly heardAt: number }>;
  /** The worker of each conversation's previous turn. */
  readonly affinity: Affinity;
  readonly batches: BatchMemory;
  /** Schedules run no sooner: many have just run. */
  schedulesRestUntilAt: number;

  /** Providers that back off, and until when. */
  readonly backoffs: Map<string, number>;
  /** By provider, what its catalog lists. */
  readonly catalog: Map<string, CatalogFacts>;
  spending: Spending;
  /** The reached budgets, the tenant's first. */
  budgetNotices: readonly BudgetNotice[];

  /** Newest first. */
  webhooks: readonly Webhook[];
  readonly deliveries: DeliveryMemory;
  readonly notices: NoticeMemory;

  readonly counters: Counters;
  readonly outbox: OutboxMemory;
  /** The number of its history's database. */
  database: number;
  readonly storage: StorageMemory;
}

/** When workers are looked at whose state depends on time alone (`operations/fleet/watch.ts`). */
interface FleetWatch {
  /** The last time. */
  lookedAt: number;
  /** The earliest time at which one is to be forgotten. */
  forgetAt: number;
}

interface WorkerSockets {
  /** Workers whose new socket is accepted after this commit. */
  readonly opening: Set<string>;
  /** Workers whose socket dropped or whose key was revoked, and when: front-door jobs soon leave them. */
  readonly goneAt: Map<string, number>;
}

/** The coordinator's own calls of providers. */
interface EdgeMemory {
  /** When a provider is asked again whether the coordinator can call it. */
  readonly askAt: Map<string, number>;
  /** When to look again for waiting jobs that a fallback of the coordinator may take. */
  lookAt: number;
  /** By provider, the last UTC day on which a fallback of the coordinator took over. */
  overflowDays: Readonly<Record<string, number>>;
}

interface OutboxMemory {
  nextSeq: number;
  drainedSeq: number;
  /** What was told of jobs that have left. */
  readonly lateCosts: LateCosts;
}

const firstForgetAt = (fleet: Fleet, { presence }: Config): number =>
  [...fleet.members()].reduce(
    (earliest, { lastSeenAt }) => Math.min(earliest, lastSeenAt + forgetAfterMs(fleet, presence)),
    Number.POSITIVE_INFINITY,
  );

export const spentThisMonth = (store: Store, nowAt: number): Spending =>
  new Spending(store.spending.since(periodAt("month", nowAt).fromAt));

/** Flows begin with what the jobs that workers hold were charged for. */
const loadQueue = (store: Store, queue: Queue, flows: Flows, nowAt: number): void => {
  const held = store.jobs.leasedFlows();
  held.sort((one, other) => (one.share?.from ?? 0) - (other.share?.from ?? 0));
  for (const job of held) flows.serve(job, job.share, nowAt);
  for (const { groupKey, lane, count } of store.jobs.waitingCounts()) {
    queue.load(groupKey, count);
    const place = placeOfLane(groupKey, lane);
    flows.join(place, weightOf(store, place.flow), nowAt, count);
  }
};

const openCountsOf = (store: Store, keys: readonly KeyRecord[]): Map<string, number> => {
  const counts = new Map(store.keyUse.openCountsOfUsers());
  for (const { id, limits } of keys) {
    if (limits?.concurrent != null) counts.set(id, store.keyUse.openCount(id) ?? store.jobs.openCountOf(id));
    const waiting = waitingOf(id);
    if (limits?.maxWaiting != null)
      counts.set(waiting, store.keyUse.openCount(waiting) ?? store.jobs.waitingCountOf(id));
  }
  return counts;
};

const loadFleet = (store: Store, keys: readonly KeyRecord[], killswitch: Killswitch, nowAt: number): Fleet => {
  const fleet = new Fleet();
  const lockedOut = new Set(store.people.idsWithoutWork());
  for (const key of keys)
    if (key.revokedAt !== null || lockedOut.has(key.personId ?? "") || !isUsable(store, key, nowAt))
      lockedOut.add(key.id);
  for (const worker of store.workers.each()) {
    fleet.put({ ...worker, isHalted: isHaltedBy(killswitch, worker.resumedEpoch) }, nowAt);
    if (worker.isEdge) fleet.noteReach(worker.instance, { isConnected: true });
    if (worker.keyId !== null && lockedOut.has(worker.keyId)) fleet.noteReach(worker.instance, { isLockedOut: true });
  }
  for (const { worker, provider, count } of store.jobs.leaseCounts()) fleet.addLoad(worker, provider, count);
  return fleet;
};

/** `counters` outlive a reload; `defaults` is the config of a tenant that has none of its own. */
export const loadMemory = (
  store: Store,
  nowAt: number,
  counters: Counters,
  defaults: ConfigDocument = DEFAULT_CONFIG_DOCUMENT,
  bounds: StorageBounds = DEFAULT_BOUNDS,
): Memory => {
  const killswitch = store.settings.killswitch();
  const keys = store.keys.all();
  const fleet = loadFleet(store, keys, killswitch, nowAt);
  const queue = new Queue();
  const flows = new Flows();
  loadQueue(store, queue, flows, nowAt);
  const storedConfig = store.settings.config() ?? { etag: '"default"', document: defaults };
  const config = toConfig(storedConfig.document);
  const drainedSeq = store.settings.drainedSeq();
  const troubled = [...fleet.members()].filter(({ worker }) => worker.isEdge && worker.unavailable !== null);
  return {
    absence: store.settings.absence(),
    config,
    storedConfig,
    killswitch,
    haltConfirmed: null,

    fleet,
    unstoredWorkers: new Set(),
    watch: { lookedAt: nowAt, forgetAt: firstForgetAt(fleet, config) },
    sockets: { opening: new Set(), goneAt: new Map() },
    edge: {
      askAt: new Map(troubled.map(({ worker }) => [worker.provider, nowAt])),
      lookAt: config.edgeAfterMs.size > 0 ? nowAt : Number.POSITIVE_INFINITY,
      overflowDays: store.settings.overflowDays(),
    },
    modelTasks: new LiveTasks(store.modelTasks.live()),

    queue,
    flows,
    open: store.jobs.openCounts(),
    openByKey: openCountsOf(store, keys),
    openStreams: store.jobs.openStreamCount(),
    beats: new Map(),
    affinity: new Affinity(),
    batches: loadBatches(store),
    schedulesRestUntilAt: 0,

    backoffs: new Map(store.backoffs.all().map(({ provider, untilAt }) => [provider, untilAt])),
    catalog: store.catalog.all(),
    spending: spentThisMonth(store, nowAt),
    budgetNotices: store.settings.budgetNotices(),

    webhooks: store.webhooks.all(),
    deliveries: loadDeliveries(store),
    notices: loadNotices(store, fleet, config, nowAt),

    counters,
    outbox: {
      nextSeq: Math.max(store.outbox.lastSeq(), drainedSeq) + 1,
      drainedSeq,
      lateCosts: new LateCosts(store.outbox.lateCosts),
    },
    database: numberOf(store.settings.historyPlace()),
    storage: loadStorage(store, bounds),
  };
};
