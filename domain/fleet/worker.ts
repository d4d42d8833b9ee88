// Workers: what they offer, whether they are alive, and when they get no new jobs. Liveness is computed from the last
// sign of life when it is asked for; nothing sets a flag when a worker falls silent. How its jobs end: `outcomes.ts`.

import type { Api } from "../words/api.ts";
import type { Tier } from "../words/requirements.ts";
import { isSameList } from "../words/same-list.ts";
import { closedBecause, type Opening } from "./hours.ts";
import { type Machine, type MachineReport, machineOf } from "./machine.ts";
import { type MissingModel, withMissing } from "./model-name.ts";
import { type ModelSet, modelSetIdOf, modelSetOf } from "./model-set.ts";
import { HALT_PAUSE, type Pause } from "./pause.ts";

export const WORKER_STATUSES = ["offline", "busy", "idle", "online"] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

export const MAX_CONCURRENCY = 1000;

/** What a worker says of itself in each report, except for its models. */
interface Offer {
  readonly instance: string;
  readonly provider: string;
  readonly tagList: string;
  readonly tags: readonly string[];
  readonly tier: Tier | null;
  readonly version: string | null;
  readonly concurrency: number;
  /** Why it can take no jobs now, e.g. its runtime does not answer; null when it can. */
  readonly unavailable: string | null;
  /** The front-door APIs that it offers. */
  readonly apis: readonly Api[];
}

export interface OfferedModels {
  /** null: it names none. */
  readonly models: readonly string[] | null;
  /** The models that its runtime lists now, null if it does not say: what it takes if it names none itself. */
  readonly runtimeModels: readonly string[] | null;
}

/** A worker's presence report; `jobs` lists the jobs it has, null if it does not say. */
export interface PresenceReport extends Offer, OfferedModels {
  readonly machine: MachineReport;
  /** It wants nothing now, for reasons of its own. */
  readonly isBusy?: boolean;
  readonly jobs: readonly string[] | null;
}

type Busy = "full" | "own";

export const busyOf = ({ isBusy = false }: PresenceReport, isFull: boolean): Busy | null => {
  if (!isBusy) return null;
  return isFull ? "full" : "own";
};

export interface Outcome {
  readonly jobId: string;
  readonly outcome: "completed" | "failed";
  readonly code: string | null;
  /** Its runtime refused a front-door client's request, in the runtime's own words. */
  readonly isClientsFault?: boolean;
  /** The key that created the job; missing in older records. */
  readonly keyId?: string | null;
  readonly at: number;
}

interface Trial {
  /** Why it rests if the trial fails. */
  readonly why: string;
  /** Until then the answer is waited for. */
  readonly untilAt: number;
}

/** The coordinator's own calls of a provider, in at most so many places for each of its workers. */
export const EDGE_PLACES = 32;
const EDGE_INSTANCE = /^edge-[a-z0-9_-]+-\d{1,3}$/;
export const edgeInstance = (provider: string, number: number): string => `edge-${provider}-${number}`;
/** No worker process may have such a name. */
export const isEdgeInstance = (instance: string): boolean => EDGE_INSTANCE.test(instance);
/** How often the coordinator's own calls tell that they live, whatever the config says. */
export const EDGE_BEAT_MS = 10_000;

export interface Worker extends Offer {
  /** The coordinator itself: never silent, and nobody reports its presence. */
  readonly isEdge: boolean;
  /** Its `OfferedModels`, whose names are on disk. */
  readonly models: ModelSet | null;
  readonly runtimeModels: ModelSet | null;
  /** null: it says nothing of its machine. */
  readonly machine: Machine | null;
  /** It reported that it is busy: at full load that ends with one of its jobs, else with its next report. */
  readonly busy: Busy | null;
  /** It last reported over its socket, so without an open socket it cannot get a job. */
  readonly viaSocket: boolean;
  /** It has opened a data line, so its relay may have one. */
  readonly hasHadLine: boolean;
  /** The key of its last report. */
  readonly keyId: string | null;
  readonly registeredAt: number;
  /** The last stored sign of life; memory may have a later one. */
  readonly lastHeartbeatAt: number;
  /** By an operator, or automatically for failing; survives restarts of the worker and the killswitch. */
  readonly pause: Pause | null;
  /** The hours that an operator gave it; null: always open. */
  readonly opening: Opening | null;
  /** Paused by the killswitch: computed from the epochs when the object wakes and when they change. */
  readonly isHalted: boolean;
  /** The killswitch epoch after which it was resumed or registered. */
  readonly resumedEpoch: number;
  /** The last killswitch activation that this worker has confirmed. */
  readonly confirmedHalt: number;
  /** One per job, newest first, at most RECENT_OUTCOMES. */
  readonly outcomes: readonly Outcome[];
  /** Sweeps in a row that found leases it had let expire unstarted. */
  readonly expiredLeases: number;
  /** Automatic pauses in a row since it last completed a job. */
  readonly rests: number;
  /** Models that its runtime answered not to have, since its list last changed. */
  readonly missingModels: readonly MissingModel[];
  /** It was asked to try its runtime; null if no answer is awaited. */
  readonly trial: Trial | null;
  /** When its own trial last went well: failures until then do not count. */
  readonly provedAt: number | null;
  readonly lastCompletedAt: number | null;
}

/** The built-in runtime, and the one model that it offers. */
export const ECHO = "echo";

/** A worker at one instant. */
export interface WorkerView {
  readonly worker: Worker;
  readonly status: WorkerStatus;
  readonly load: number;
  /** Why it gets no new jobs now, and until when; null while it does. */
  readonly pause: Pause | null;
  readonly unavailable: string | null;
  readonly lastSeenAt: number;
  readonly connected: boolean;
  /** Whether it has confirmed the halt; null while nothing is halted. */
  readonly haltConfirmed: boolean | null;
}

/** What a report does not say itself. */
export interface ReportFacts {
  readonly keyId: string | null;
  readonly viaSocket: boolean;
  /** The worker has as many jobs as it takes at once. */
  readonly isFull: boolean;
}

export const registerWorker = (
  report: PresenceReport,
  known: Worker | null,
  from: ReportFacts,
  nowAt: number,
): Worker => ({
  isEdge: false,
  hasHadLine: false,
  registeredAt: nowAt,
  pause: null,
  opening: null,
  isHalted: false,
  resumedEpoch: 0,
  confirmedHalt: 0,
  outcomes: [],
  expiredLeases: 0,
  rests: 0,
  trial: null,
  provedAt: null,
  lastCompletedAt: null,
  ...known,
  missingModels: known === null || !hasSameModels(known, report) ? [] : known.missingModels,
  instance: report.instance,
  provider: report.provider,
  tagList: report.tagList,
  tags: report.tags,
  models: setOf(modelsOf(report), known?.models),
  tier: report.tier,
  version: report.version,
  concurrency: report.concurrency,
  unavailable: report.unavailable,
  busy: busyOf(report, from.isFull),
  apis: report.apis,
  runtimeModels: setOf(report.runtimeModels, known?.runtimeModels),
  machine: machineOf(report.machine, known?.machine),
  keyId: from.keyId,
  viaSocket: from.viaSocket,
  lastHeartbeatAt: nowAt,
});

/** Any other worker that names no models takes any. */
export const modelsOf = ({ provider, models }: PresenceReport): readonly string[] | null =>
  provider === ECHO && models === null ? [ECHO] : models;

const setOf = (names: readonly string[] | null, known: ModelSet | null = null): ModelSet | null => {
  if (names === null) return null;
  return isSameModels(known, names) ? known : modelSetOf(names);
};

const isSameModels = (set: ModelSet | null, names: readonly string[] | null): boolean =>
  set === null || names === null ? set === names : set.count === names.length && set.id === modelSetIdOf(names);

/** A tag is kept as text and in an index. */
const COPIES_OF_A_TAG = 4;

/** What a worker's tags, and all models that it names, count against the bound of all of them. */
export const offerBytesOf = ({ tagList, models, runtimeModels, machine }: Worker): number =>
  tagList.length * COPIES_OF_A_TAG + (models?.bytes ?? 0) + (runtimeModels?.bytes ?? 0) + (machine?.bytes ?? 0);

/** Whether a report contains no change that routing or a reader would notice. */
export const isSameOffer = (worker: Worker, report: PresenceReport): boolean =>
  worker.provider === report.provider &&
  worker.tagList === report.tagList &&
  worker.concurrency === report.concurrency &&
  worker.tier === report.tier &&
  worker.version === report.version &&
  worker.unavailable === report.unavailable &&
  isSameList(worker.apis, report.apis) &&
  isSameMachine(worker, report) &&
  hasSameModels(worker, report);

const isSameMachine = ({ machine }: Worker, report: PresenceReport): boolean =>
  machineOf(report.machine, machine)?.id === machine?.id;

const hasSameModels = (worker: Worker, report: PresenceReport): boolean =>
  isSameModels(worker.models, modelsOf(report)) && isSameModels(worker.runtimeModels, report.runtimeModels);

/** Its runtime answered that it does not have the model. */
export const recordMissing = (worker: Worker, model: string, nowAt: number): Worker => ({
  ...worker,
  missingModels: withMissing(worker.missingModels, model, nowAt),
});

export const isOffline = (lastSeenAt: number, offlineAfterMs: number, nowAt: number): boolean =>
  nowAt - lastSeenAt > offlineAfterMs;

/** The first instant at which it is offline, unless it shows another sign of life before. */
export const offlineFromAt = (lastSeenAt: number, offlineAfterMs: number): number => lastSeenAt + offlineAfterMs + 1;

export const statusOf = (
  worker: Worker,
  load: number,
  lastSeenAt: number,
  offlineAfterMs: number,
  nowAt: number,
): WorkerStatus => {
  if (isOffline(lastSeenAt, offlineAfterMs, nowAt)) return "offline";
  if (worker.busy !== null || load >= worker.concurrency) return "busy";
  return load === 0 ? "idle" : "online";
};

/** The pause that holds at this instant; null if there is none. */
export const pauseOf = ({ pause, isHalted }: Worker, nowAt: number): Pause | null => {
  if (pause !== null && (pause.untilAt === null || nowAt < pause.untilAt)) return pause;
  return isHalted ? HALT_PAUSE : null;
};

/** Why a worker can take no jobs now: it is outside its hours, or as it says itself. */
export const unavailableOf = ({ opening, unavailable }: Worker, nowAt: number): string | null =>
  (opening === null ? null : closedBecause(opening, nowAt)) ?? unavailable;

export const pauseWorker = (worker: Worker, reason: string | null, untilAt: number | null): Worker => ({
  ...worker,
  pause: { reason: reason ?? "paused by an operator", untilAt },
});

/** Active again, with its failures forgotten, so that they do not count twice. */
export const resumeWorker = (worker: Worker): Worker => ({
  ...worker,
  pause: null,
  isHalted: false,
  expiredLeases: 0,
  rests: 0,
  trial: null,
  outcomes: worker.outcomes.filter((one) => one.outcome === "completed"),
});
