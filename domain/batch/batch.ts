// A batch: a file of requests that the fleet does when it has room. Each line becomes a job; only a window of them is
// open at a time. Invariant: a line is open, still in the file, or has ended, and each is counted once.
//
// validating ──begin──▶ in_progress ──all lines ended──▶ finalizing ──close──▶ completed
//     │                  │   └──its time is over──▶ finalizing ──close──▶ expired
//     └──▶ failed        └──cancel──▶ cancelling ──close──▶ cancelled   (cancel: also from validating)

import type { Usage } from "../job/job.ts";
import type { Api } from "../words/api.ts";
import { CLIENT_SHARE } from "../words/client-share.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../words/duration.ts";
import { entryOf } from "../words/entry-of.ts";
import type { FinalStatus } from "../words/job-status.ts";
import type { BatchLine, Fault } from "./batch-line.ts";

export const BATCH_STATUSES = [
  "validating",
  "failed",
  "in_progress",
  "finalizing",
  "completed",
  "expired",
  "cancelling",
  "cancelled",
] as const;
type BatchStatus = (typeof BATCH_STATUSES)[number];

/** How a batch that was begun ends. */
export type BatchEnding = "completed" | "expired" | "cancelled";

/** Running lines of a cancelled batch may end within this. */
export const CANCEL_GRACE_MS = MINUTE_MS;
/** Of a tenant, not ended. */
export const MAX_OPEN_BATCHES = 100;
/** Of them those of one client's key, which may wait for their whole window. */
export const MAX_OPEN_OF_CLIENT = CLIENT_SHARE * MAX_OPEN_BATCHES;
/** Of a tenant, those included that have ended and are not forgotten yet. */
export const MAX_BATCHES = 10_000;
/** Of them those of one client's key. */
export const MAX_BATCHES_OF_CLIENT = CLIENT_SHARE * MAX_BATCHES;
const LONGEST_WINDOW_MS = 7 * DAY_MS;
export const OUTPUT_LIFE_MS = { shortest: HOUR_MS, usual: 30 * DAY_MS, longest: 30 * DAY_MS };
/** Different models in one batch: each has a window of its own. */
export const MAX_BATCH_MODELS = 32;
/** Workers and error codes counted by name in one batch. */
const MAX_NAMES = 100;
const OTHERS = "other";

/** The lines of one model, which are given out in order of their hash: equal beginnings follow each other. */
export interface BatchModel {
  readonly name: string;
  readonly total: number;
  /** Lines that have become jobs. */
  readonly fed: number;
  readonly ended: number;
  /** The last line that became a job. */
  readonly cursor: LineCursor | null;
}

export interface LineCursor {
  readonly hash: number;
  readonly line: number;
}

/** A line as its file's object gives it out. */
export interface TakenLine extends LineCursor {
  readonly customId: string;
  readonly body: BatchLine["body"];
}

export interface BatchRecord {
  readonly id: string;
  /** By which form of request it was made. */
  readonly form: "openai" | "anthropic";
  readonly keyId: string | null;
  readonly fileId: string;
  /** The address at which it was made, for links. */
  readonly origin: string;
  readonly api: Api;
  readonly completionWindow: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly outputLifeMs: number;
  /** Its lines go to no provider that the coordinator calls itself. */
  readonly edge?: false;
  readonly status: BatchStatus;
  /** Set when its lines have ended, or may not go on. */
  readonly ending: BatchEnding | null;
  readonly total: number;
  readonly models: readonly BatchModel[];
  readonly completed: number;
  /** Lines that got an answer, which was an error. */
  readonly failed: number;
  readonly usage: Usage;
  readonly costNanoUsd: number;
  /** Attempts whose cost is not known. */
  readonly unpriced: number;
  readonly workers: Readonly<Record<string, number>>;
  readonly errors: Readonly<Record<string, number>>;
  /** Lines that ended in the last minutes. */
  readonly pace: Pace;
  /** Why it is `failed`. */
  readonly faults: readonly Fault[];
  /** Sizes of its output and error file; null before it has ended, and for one without lines. */
  readonly outputBytes: number | null;
  readonly errorBytes: number | null;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly inProgressAt: number | null;
  readonly finalizingAt: number | null;
  readonly cancellingAt: number | null;
  readonly endedAt: number | null;
}

/** Counts of the minute that began at `startedAt`, and of the ones before it, the newest first. */
interface Pace {
  readonly startedAt: number;
  readonly counts: readonly number[];
}

const PACE_MINUTES = 5;

export type NewBatch = Pick<
  BatchRecord,
  "id" | "form" | "keyId" | "fileId" | "origin" | "api" | "completionWindow" | "metadata" | "outputLifeMs" | "edge"
>;

export const createBatch = (asked: NewBatch, windowMs: number, nowAt: number): BatchRecord => ({
  ...asked,
  status: "validating",
  ending: null,
  total: 0,
  models: [],
  completed: 0,
  failed: 0,
  usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 },
  costNanoUsd: 0,
  unpriced: 0,
  workers: {},
  errors: {},
  pace: { startedAt: nowAt, counts: [0] },
  faults: [],
  outputBytes: null,
  errorBytes: null,
  createdAt: nowAt,
  expiresAt: nowAt + windowMs,
  inProgressAt: null,
  finalizingAt: null,
  cancellingAt: null,
  endedAt: null,
});

const WINDOW = /^([1-9]\d{0,2})([hd])$/;

/** `<n>h` or `<n>d`, an hour to seven days; null for anything else. */
export const windowOf = (text: string): number | null => {
  const [, count, unit] = WINDOW.exec(text) ?? [];
  if (count === undefined) return null;
  const ms = Number(count) * (unit === "h" ? HOUR_MS : DAY_MS);
  return ms <= LONGEST_WINDOW_MS ? ms : null;
};

export const isEnded = ({ endedAt }: Pick<BatchRecord, "endedAt">): boolean => endedAt !== null;

/** The share of its window at whose end a line no longer yields to other work. */
const COMPETING_SHARE = 6;

/** Until then every other job comes before its lines. */
export const yieldsUntilAt = ({ createdAt, expiresAt }: BatchRecord): number =>
  Math.round(expiresAt - (expiresAt - createdAt) / COMPETING_SHARE);

/** Every line was read, and none is at fault. */
export const beginBatch = (
  batch: BatchRecord,
  models: readonly Pick<BatchModel, "name" | "total">[],
  nowAt: number,
): BatchRecord => ({
  ...batch,
  status: "in_progress",
  inProgressAt: nowAt,
  total: models.reduce((sum, { total }) => sum + total, 0),
  models: models.map((model) => ({ ...model, fed: 0, ended: 0, cursor: null })),
});

export const failBatch = (batch: BatchRecord, faults: readonly Fault[], nowAt: number): BatchRecord => ({
  ...batch,
  status: "failed",
  faults,
  endedAt: nowAt,
});

export const openLines = ({ models }: Pick<BatchRecord, "models">): number =>
  models.reduce((sum, { fed, ended }) => sum + fed - ended, 0);

export const unfedLines = ({ models }: Pick<BatchRecord, "models">): number =>
  models.reduce((sum, { total, fed }) => sum + total - fed, 0);

/** Lines of this model became jobs. */
export const noteFed = (batch: BatchRecord, name: string, count: number, cursor: LineCursor): BatchRecord => ({
  ...batch,
  models: batch.models.map((model) => (model.name === name ? { ...model, fed: model.fed + count, cursor } : model)),
});

/** How a line's job ended. */
interface LineEnd {
  /** As the line names it. */
  readonly model: string;
  readonly outcome: FinalStatus;
  readonly worker: string | null;
  readonly errorCode: string | null;
  readonly usage: Usage | null;
}

const counted = (counts: Readonly<Record<string, number>>, name: string): Record<string, number> => {
  const isKnown = Object.hasOwn(counts, name) || Object.keys(counts).length < MAX_NAMES;
  const key = isKnown ? name : OTHERS;
  return { ...counts, [key]: (entryOf(counts, key) ?? 0) + 1 };
};

const added = (sum: Usage, one: Usage | null): Usage => ({
  inputTokens: sum.inputTokens + (one?.inputTokens ?? 0),
  outputTokens: sum.outputTokens + (one?.outputTokens ?? 0),
  cachedInputTokens: (sum.cachedInputTokens ?? 0) + (one?.cachedInputTokens ?? 0),
  reasoningTokens: (sum.reasoningTokens ?? 0) + (one?.reasoningTokens ?? 0),
});

const paced = ({ startedAt, counts }: Pace, nowAt: number): Pace => {
  const passed = Math.max(0, Math.floor((nowAt - startedAt) / MINUTE_MS));
  const empty = Array.from({ length: Math.min(passed, PACE_MINUTES + 1) }, () => 0);
  const [current = 0, ...earlier] = [...empty, ...counts].slice(0, PACE_MINUTES + 1);
  return { startedAt: startedAt + passed * MINUTE_MS, counts: [current + 1, ...earlier] };
};

export const noteLineEnd = (batch: BatchRecord, end: LineEnd, nowAt: number): BatchRecord => {
  const { outcome, worker, errorCode } = end;
  return {
    ...batch,
    models: batch.models.map((one) => (one.name === end.model ? { ...one, ended: one.ended + 1 } : one)),
    completed: batch.completed + Number(outcome === "completed"),
    failed: batch.failed + Number(outcome === "failed"),
    workers: outcome === "completed" && worker !== null ? counted(batch.workers, worker) : batch.workers,
    errors: errorCode === null ? batch.errors : counted(batch.errors, errorCode),
    usage: added(batch.usage, end.usage),
    pace: paced(batch.pace, nowAt),
  };
};

/** What an attempt at one of its lines cost; null if that is not known. */
export const noteSpent = (batch: BatchRecord, nanoUsd: number | null): BatchRecord => ({
  ...batch,
  costNanoUsd: batch.costNanoUsd + (nanoUsd ?? 0),
  unpriced: batch.unpriced + Number(nanoUsd === null),
});

/** What an attempt spent, told after its estimate was added. */
export const noteCorrected = (batch: BatchRecord, from: number | null, to: number | null): BatchRecord => ({
  ...batch,
  costNanoUsd: batch.costNanoUsd - (from ?? 0) + (to ?? 0),
  unpriced: batch.unpriced - Number(from === null) + Number(to === null),
});

/** Over the last five minutes, or since it began. */
export const linesPerMinute = ({ pace, inProgressAt }: BatchRecord, nowAt: number): number => {
  const passed = Math.max(0, Math.floor((nowAt - pace.startedAt) / MINUTE_MS));
  const counts = pace.counts.slice(0, Math.max(0, PACE_MINUTES + 1 - passed));
  const sum = counts.reduce((all, one) => all + one, 0);
  const sinceMs = nowAt - Math.max(inProgressAt ?? nowAt, pace.startedAt - (counts.length - 1) * MINUTE_MS);
  return sinceMs <= 0 ? 0 : sum / (Math.max(sinceMs, SECOND_MS) / MINUTE_MS);
};

/** Nothing of it runs any more, and nothing may begin: what is left is to write its files. */
export const finishLines = (batch: BatchRecord, ending: BatchEnding, nowAt: number): BatchRecord => ({
  ...batch,
  ending,
  status: ending === "cancelled" ? "cancelling" : "finalizing",
  finalizingAt: ending === "cancelled" ? null : nowAt,
});

export const beginCancel = (batch: BatchRecord, nowAt: number): BatchRecord => ({
  ...batch,
  status: "cancelling",
  cancellingAt: nowAt,
});

/** Its files are written. */
export const closeBatch = (
  batch: BatchRecord,
  bytes: { readonly output: number; readonly errors: number },
  nowAt: number,
): BatchRecord => ({
  ...batch,
  status: batch.ending ?? "completed",
  outputBytes: bytes.output,
  errorBytes: bytes.errors,
  endedAt: nowAt,
});

/** Whether no line can end any more. */
export const isSpent = (batch: BatchRecord): boolean =>
  openLines(batch) === 0 && (unfedLines(batch) === 0 || batch.status === "cancelling");

export type BatchFileKind = "out" | "err";

export const batchFileId = (batchId: string, kind: BatchFileKind): string => `file-${batchId}-${kind}`;

/** When it must be looked at next, whatever else happens: its cancelled lines' end, or its own. */
export const nextInstantOf = (batch: BatchRecord): number | null => {
  if (batch.ending !== null || batch.inProgressAt === null) return null;
  if (batch.status === "in_progress") return batch.expiresAt;
  if (batch.status === "cancelling") return (batch.cancellingAt ?? 0) + CANCEL_GRACE_MS;
  return null;
};
