// What the object keeps in memory: indexes over its tables, rebuilt on waking and after a failed turn. Everything here
// can be read from the store again; a turn that changes a row changes its index in the same step.

import { type ConfigDocument, DEFAULT_CONFIG_DOCUMENT, toConfig } from "../../contract/config/config.ts";
import type { KeyRecord } from "../../domain/access/key.ts";
import { waitingOf } from "../../domain/access/key-limits.ts";
import type { BatchRecord } from "../../domain/batch/batch.ts";
import type { Config } from "../../domain/config.ts";
import { Fleet } from "../../domain/fleet/fleet.ts";
import { offlineFromAt } from "../../domain/fleet/worker.ts";
import { Flows, placeOfLane } from "../../domain/job/flows.ts";
import type { Job } from "../../domain/job/job.ts";
import { Queue } from "../../domain/job/queue.ts";
import { isHaltedBy, type Killswitch } from "../../domain/killswitch.ts";
import { periodAt } from "../../domain/money/period.ts";
import { Spending } from "../../domain/money/spending.ts";
import type { Absence } from "../../domain/tenant/absence.ts";
import { DEFAULT_MAX_GB } from "../../domain/tenant/max-gb.ts";
import type { StoragePlace } from "../../domain/tenant/storage-use.ts";
import { numberOf } from "../../domain/tenant/tenant-database.ts";
import type { Webhook } from "../../domain/webhook.ts";
import type { CatalogFacts } from "../store/catalog.ts";
import type { Idleness } from "../store/fleet/idle-workers.ts";
import type { OpenStatus } from "../store/jobs/open-counts.ts";
import type { Store } from "../store/open.ts";
import type { BudgetNotice, StoredConfig } from "../store/settings.ts";
import { Affinity } from "./affinity.ts";
import type { Counters } from "./counters.ts";
import { weightOf } from "./flow-turns.ts";
import { LateCosts } from "./late-costs.ts";
import { LiveTasks } from "./live-tasks.ts";
import { isUsable } from "./usable-key.ts";

export interface Memory {
  readonly fleet: Fleet;
  /** Workers whose outcomes are newer than their rows; the next drain stores them. */
  readonly unstoredWorkers: Set<string>;
  readonly queue: Queue;
  /** Which of equal jobs is next. A reload forgets what was served to flows that run nothing. */
  readonly flows: Flows;
  /** By running job, the last heartbeat received, and the one in its row at that time. Empty after a reload. */
  readonly beats: Map<string, { readonly storedAt: number | null; readonly heardAt: number }>;
  /** When workers were last examined whose state depends on time alone. */
  lookedAt: number;
  /** The earliest time at which a worker is to be forgotten. */
  forgetAt: number;
  /** Schedules run no sooner: many have just run. */
  schedulesRestUntilAt: number;
  /** Providers that back off, and until when. */
  readonly backoffs: Map<string, number>;
  /** By provider, what its catalog lists. */
  readonly catalog: Map<string, CatalogFacts>;
  config: Config;
  storedConfig: StoredConfig;
  killswitch: Killswitch;
  /** The workers that have confirmed an activation; null until it is asked for. */
  haltConfirmed: { readonly activation: number; readonly instances: Set<string> } | null;
  /** The reached budgets, the tenant's first. */
  budgetNotices: readonly BudgetNotice[];
  spending: Spending;
  readonly counters: Counters;
  /** The tenant's move to or from another deployment; null while it is served here. */
  absence: Absence | null;
  /** The worker of each conversation's previous turn. */
  readonly affinity: Affinity;
  readonly lateCosts: LateCosts;
  /** When a provider is asked again whether the coordinator can call it. */
  readonly edgeAskAt: Map<string, number>;
  /** By provider, the last UTC day on which a fallback of the coordinator took over. */
  overflowDays: Readonly<Record<string, number>>;
  /** When to look again for waiting jobs that a fallback of the coordinator may take. */
  edgeLookAt: number;
  /** Workers whose new socket is accepted after this commit. */
  readonly openingSockets: Set<string>;
  /** Workers whose socket dropped or whose key was revoked, and when: front-door jobs soon leave them. */
  readonly socketGoneAt: Map<string, number>;
  /** Open jobs of the keys with a limit on jobs, their waiting ones, and those of their people (`domain/access`). */
  readonly openByKey: Map<string, number>;
  /** Newest first. */
  webhooks: readonly Webhook[];
  /** Deliveries whose try has no outcome yet, with their webhook. */
  readonly deliveriesUnderWay: Map<string, string>;
  /** By webhook, how many deliveries wait for a try or its outcome. */
  readonly pendingDeliveries: Map<string, number>;
  /** Webhooks whose last try took long. */
  readonly slowWebhooks: Set<string>;
  /** Workers whose silence was announced to webhooks. */
  readonly silentWorkers: Set<string>;
  /** No other worker falls silent before this. */
  silenceAt: number;
  /** Workers without work; empty unless a webhook asks for them. */
  readonly idleWorkers: Map<string, Idleness>;
  /** No group has waited for capacity for long enough before this. */
  wantedAt: number;
  /** Jobs that have sent their first output and are not final. */
  openStreams: number;
  /** Open jobs by status. */
  readonly open: Record<OpenStatus, number>;
  /** Model tasks that are not over, or whose cancelling their worker may not know. */
  readonly modelTasks: LiveTasks;
  /** Batches that have not ended. */
  readonly batches: Map<string, BatchRecord>;
  readonly batchWork: BatchWork;
  nextSeq: number;
  drainedSeq: number;
  /** The size of the object's database, of the files and bodies outside, and of history's database, as last read. */
  readonly stored: {
    bytes: number;
    fileBytes: number;
    bodyBytes: number;
    databaseBytes: number | null;
    readAt: number;
  };
  /** The number of its history's database. */
  database: number;
  /** About what history has: what it was sent, less the share of the jobs that retention has deleted. */
  historyBytes: number;
  maxGb: number | null;
  readonly bounds: StorageBounds;
  /** Places that fill up, each of which was audited once. */
  fillingPlaces: readonly StoragePlace[];
  /** What the archive has of this tenant. */
  archiveBytes: number;
  isArchiveFailing: boolean;
}

/** What may be stored; the operator may set another bound for the tenant. */
export interface StorageBounds {
  readonly maxGb: number;
  readonly liveBytes: number;
  /** Of history's database; null: its disk alone. */
  readonly historyBytes: number | null;
}

/** Half of the platform's limit for an object, so that open jobs can still finish and be written to history. */
export const MAX_STORED_BYTES = 5_000_000_000;
export const DEFAULT_BOUNDS: StorageBounds = { maxGb: DEFAULT_MAX_GB, liveBytes: MAX_STORED_BYTES, historyBytes: null };

/** What lines of batches met at a provider that limits its rate. */
interface LineBackoff {
  /** 0: lines may run. */
  readonly untilAt: number;
  /** Waits since a line was last answered. */
  readonly waits: number;
}

/** What workers have of batches, and beside them. */
interface BatchWork {
  /** Leased lines, by batch. */
  readonly ofBatch: Map<string, number>;
  /** The same, by worker. */
  readonly ofWorker: Map<string, number>;
  /** When a worker last began or ended other work; only where a quiet time is configured. Empty after a reload. */
  readonly otherAt: Map<string, number>;
  /** By provider, after a rate limit. Empty after a reload. */
  readonly backoffs: Map<string, LineBackoff>;
  /** When batches were last looked at. */
  lookedAt: number;
}

const batchWorkOf = (store: Store, hasBatches: boolean): BatchWork => {
  const none = { ofBatch: new Map(), ofWorker: new Map(), otherAt: new Map(), backoffs: new Map() };
  const work: BatchWork = { ...none, lookedAt: 0 };
  if (hasBatches) for (const job of store.jobs.allLeased()) countLeasedLine(work, job, 1);
  return work;
};

/** A line was given to its worker (1), or has left it (-1). */
export const countLeasedLine = (work: BatchWork, job: Pick<Job, "batch" | "assignedWorker">, change: number): void => {
  if (job.batch === null || job.assignedWorker === null) return;
  for (const [counts, name] of [
    [work.ofBatch, job.batch],
    [work.ofWorker, job.assignedWorker],
  ] as const) {
    const count = (counts.get(name) ?? 0) + change;
    if (count > 0) counts.set(name, count);
    else counts.delete(name);
  }
};

const firstForgetAt = (fleet: Fleet, { presence }: Config): number =>
  [...fleet.members()].reduce(
    (earliest, { lastSeenAt }) => Math.min(earliest, lastSeenAt + presence.forgetAfterMs),
    Number.POSITIVE_INFINITY,
  );

/** Not after the first silence: pings may have come since the stored signs of life. */
const firstSilenceAt = (fleet: Fleet, silent: ReadonlySet<string>, { presence }: Config): number =>
  [...fleet.members()]
    .filter(({ worker }) => !silent.has(worker.instance))
    .reduce(
      (earliest, { lastSeenAt }) => Math.min(earliest, offlineFromAt(lastSeenAt, presence.offlineAfterMs)),
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
  const silentWorkers = store.silentWorkers.all();
  const batches = new Map(store.batches.open().map((batch) => [batch.id, batch]));
  return {
    fleet,
    unstoredWorkers: new Set(),
    queue,
    flows,
    beats: new Map(),
    lookedAt: nowAt,
    forgetAt: firstForgetAt(fleet, config),
    schedulesRestUntilAt: 0,
    backoffs: new Map(store.backoffs.all().map(({ provider, untilAt }) => [provider, untilAt])),
    catalog: store.catalog.all(),
    config,
    storedConfig,
    killswitch,
    haltConfirmed: null,
    budgetNotices: store.settings.budgetNotices(),
    spending: spentThisMonth(store, nowAt),
    counters,
    absence: store.settings.absence(),
    affinity: new Affinity(),
    lateCosts: new LateCosts(store.outbox.lateCosts),
    edgeAskAt: new Map(troubled.map(({ worker }) => [worker.provider, nowAt])),
    overflowDays: store.settings.overflowDays(),
    edgeLookAt: config.edgeAfterMs.size > 0 ? nowAt : Number.POSITIVE_INFINITY,
    openingSockets: new Set(),
    socketGoneAt: new Map(),
    openByKey: openCountsOf(store, keys),
    webhooks: store.webhooks.all(),
    deliveriesUnderWay: new Map(),
    pendingDeliveries: store.deliveries.pendingCounts(),
    slowWebhooks: new Set(),
    silentWorkers,
    idleWorkers: store.idleWorkers.all(),
    wantedAt: nowAt,
    silenceAt: firstSilenceAt(fleet, silentWorkers, config),
    openStreams: store.jobs.openStreamCount(),
    open: store.jobs.openCounts(),
    modelTasks: new LiveTasks(store.modelTasks.live()),
    batches,
    batchWork: batchWorkOf(store, batches.size > 0),
    nextSeq: Math.max(store.outbox.lastSeq(), drainedSeq) + 1,
    drainedSeq,
    stored: { bytes: 0, fileBytes: 0, bodyBytes: 0, databaseBytes: null, readAt: Number.NEGATIVE_INFINITY },
    database: numberOf(store.settings.historyPlace()),
    historyBytes: store.settings.historyBytes(),
    maxGb: store.settings.maxGb(),
    bounds,
    fillingPlaces: store.settings.fillingPlaces(),
    archiveBytes: store.settings.archiveBytes(),
    isArchiveFailing: store.settings.isArchiveFailing(),
  };
};
