// Outbox → D1. Rows are sent as JSON arrays, one statement per table, in one transaction; every statement may be
// applied twice. Jobs are written in their current state, so a late batch never moves one back; after a burst most are
// final when their first event is sent, and are not sent again with the later ones.

import { startOf } from "../../contract/text/start-of.ts";
import { type JobPayload, labelsOf } from "../../domain/job/job.ts";
import { archivedRecord } from "../../domain/job/job-record.ts";
import { EVENTS_IN_ROW, MAX_TOLD_VERSION, readStoredEvent, type Stored } from "../../domain/job/stored-timeline.ts";
import { idsOf } from "../../domain/words/event.ts";
import type { Recorded } from "../store/jobs/job-rows.ts";
import type { Store } from "../store/open.ts";
import type { Attempt, Correction, OutboxRow, StoredEvent } from "../store/outbox.ts";
import { addUp } from "./add-up.ts";
import { type KeptBatch, keptTextsOf } from "./kept-texts.ts";
import { type Cells, type Insert, inserts, insertTexts, largeInserts } from "./statements.ts";

/** A job's row has the beginning of the prompt, by whose words the job is found, and the other texts if short. */
const IN_ROW = { promptChars: 4_096, textChars: 1_024 };

/** What D1 has of a job: one of its versions, and its events up to one. */
export interface Sent {
  readonly version: number;
  readonly toldVersion: number;
}

export interface Projection {
  readonly inserts: readonly Insert[];
  /** What D1 has of each job in these inserts once they are applied. */
  readonly sent: ReadonlyMap<string, Sent>;
}

/**
 * The statements that bring outbox rows to D1. Reads the jobs they name in their current state, whose further events
 * may be in `ahead`, the rows of later loads: with them most jobs of a burst are written once. `sent` is what D1 has
 * already.
 */
export const projectionOf = (
  store: Store,
  outbox: readonly OutboxRow[],
  ahead: readonly OutboxRow[],
  sent: { readonly get: (id: string) => Sent | undefined },
): Projection => {
  const isUntold = ({ jobId, version }: StoredEvent): boolean => version > (sent.get(jobId)?.toldVersion ?? 0);
  const named = outbox.flatMap((row) => row.entries.events);
  const events = named.filter(isUntold);
  const ids = [...new Set(named.map((event) => event.jobId))];
  const createdIds = events.filter((event) => event.type === "job.created").map((event) => event.jobId);
  const jobs = store.jobs.findMany(ids);
  const unsent = jobs.filter(({ job }) => sent.get(job.id)?.version !== job.version).sort(byId);
  const texts = keptTextsOf(store, jobs, {
    payloads: store.payloads.findMany(createdIds),
    results: store.payloads.findResults(unsent.map(({ job }) => job.id)),
  });
  const timelines = timelinesOf([...events, ...eventsAhead(unsent, named, ahead)]);
  return {
    inserts: [...insertsOf(outbox, events, timelines, unsent, texts), ...spentInserts(outbox, jobs)],
    sent: new Map(
      unsent.map(({ job: { id, version } }) => [id, { version, toldVersion: timelines.get(id)?.at(-1)?.version ?? 0 }]),
    ),
  };
};

/**
 * The events of these jobs in later rows. Stops at the last event of each job, because the rows of thousands of other
 * jobs may follow.
 */
const eventsAhead = (
  jobs: readonly Recorded[],
  named: readonly StoredEvent[],
  ahead: readonly OutboxRow[],
): StoredEvent[] => {
  const lastVersions = new Map(jobs.map(({ job }) => [job.id, job.version]));
  const endIfLast = ({ jobId, version }: StoredEvent): void => {
    if (lastVersions.get(jobId) === version) lastVersions.delete(jobId);
  };
  named.forEach(endIfLast);
  const coming: StoredEvent[] = [];
  for (const row of ahead) {
    if (lastVersions.size === 0) break;
    const events = row.entries.events.filter(({ jobId }) => lastVersions.has(jobId));
    coming.push(...events);
    events.forEach(endIfLast);
  }
  return coming;
};

/** Rows come in the order of creation, which is that of ids: lists rely on it. */
const byId = ({ job: one }: Recorded, { job: other }: Recorded): number => (one.id < other.id ? -1 : 1);

const insertsOf = (
  outbox: readonly OutboxRow[],
  events: readonly StoredEvent[],
  timelines: ReadonlyMap<string, readonly StoredEvent[]>,
  jobs: readonly Recorded[],
  { payloads, results }: KeptBatch,
): Insert[] => {
  const sentJobs = new Set(jobs.map(({ job }) => job.id));
  const texts = new Map([...payloads].map(([id, payload]) => [id, placed(payload)] as const));
  const answers = new Map([...results].map(([id, result]) => [id, JSON.stringify(result)] as const));
  return [
    ...inserts("tenants", outbox.flatMap(tenantRows)),
    ...insertTexts(
      "jobs",
      jobs.map((one) => jobRow(one, texts.get(one.job.id), answers.get(one.job.id), timelines.get(one.job.id))),
    ),
    ...inserts(
      "told",
      [...timelines].filter(([id]) => !sentJobs.has(id)).map(([id, told]) => [id, storedEvents(told)]),
    ),
    ...largeInserts(
      "payloads",
      [...texts].flatMap(([id, { rest }]) => (rest === null ? [] : [[id, ...rest]])),
    ),
    ...largeInserts(
      "results",
      [...answers].filter(([, text]) => !isShort(text)),
    ),
    ...inserts("events", events.filter(isFurther).map(eventRow)),
    ...inserts("audit", outbox.flatMap(auditRows)),
    ...inserts("scheduleRuns", outbox.flatMap(runRows)),
  ];
};

const tenantRows = ({ entries: { identity } }: OutboxRow): Cells[] =>
  identity === undefined ? [] : [[identity.createdAt, identity.locationHint, identity.jurisdiction]];

/** By job, what goes into its row. */
const timelinesOf = (events: readonly StoredEvent[]): ReadonlyMap<string, readonly StoredEvent[]> =>
  Map.groupBy(
    events.filter(({ version }) => version <= EVENTS_IN_ROW),
    ({ jobId }) => jobId,
  );

const isFurther = ({ version }: StoredEvent): boolean => version > EVENTS_IN_ROW && version <= MAX_TOLD_VERSION;

const eventRow = ({ jobId, version, at, type, text }: StoredEvent): Cells => {
  const { worker, lease, detail } = readStoredEvent(JSON.parse(text) as Stored);
  return [jobId, version, at, type, worker, lease, JSON.stringify(detail)];
};

/** A timeline as a job's row has it. */
const storedEvents = (told: readonly StoredEvent[]): string => `[${told.map(({ text }) => text).join(",")}]`;

/** Where a job's texts go: its own row, and a row of `payloads` with the rest of the prompt and a long input. */
interface PlacedTexts {
  readonly prompt: string;
  readonly input: string | null;
  readonly rest: readonly [prompt: string, input: string] | null;
}

const isShort = (text: string): boolean => text.length <= IN_ROW.textChars;

const placed = ({ prompt, input }: JobPayload): PlacedTexts => {
  const start = startOf(prompt, IN_ROW.promptChars);
  const text = JSON.stringify(input);
  const isWhole = start.length === prompt.length && isShort(text);
  const rest = [prompt.slice(start.length), isShort(text) ? "" : text] as const;
  return { prompt: start, input: isShort(text) ? text : null, rest: isWhole ? null : rest };
};

/** What is JSON already stands last, as it is. */
const jobRow = (
  recorded: Recorded,
  texts: PlacedTexts | undefined,
  result = "",
  told: readonly StoredEvent[] = [],
): string => {
  const { job } = recorded;
  const cells: Cells = [
    job.id,
    job.version,
    job.status,
    job.assignedWorker,
    job.schedule,
    job.keyId,
    job.ranProvider,
    job.ranModel,
    job.error?.code ?? null,
    job.error?.message ?? null,
    job.costNanoUsd,
    job.createdAt,
    job.finishedAt,
    texts?.prompt ?? null,
    texts?.input ?? null,
    result === "" || !isShort(result) ? null : result,
  ];
  return `${JSON.stringify(cells).slice(0, -1)},${JSON.stringify(labelsOf(job))},${archivedRecord(job)},${storedEvents(told)}]`;
};

/** What attempts cost. Inserted in this order, and after the jobs: their labels say which sums a cost belongs to. */
export const spentInserts = (outbox: readonly OutboxRow[], jobs: readonly Recorded[]): Insert[] => {
  const { hourSums, groupSums, usual, others } = addUp(outbox, new Map(jobs.map(({ job }) => [job.id, job])));
  return [
    ...inserts("hourSums", hourSums),
    ...inserts("groupSums", groupSums),
    ...inserts("attempts", usual.map(attemptRow)),
    ...inserts("otherAttempts", others.map(attemptRow)),
    ...inserts("corrections", outbox.flatMap(correctionRows)),
    ...inserts("lateCosts", outbox.flatMap(lateRows)),
  ];
};

export const attemptRow = (one: Attempt): Cells => [
  one.jobId,
  one.lease,
  one.at,
  one.provider,
  one.model ?? "",
  one.worker,
  one.outcome,
  ...spentCells(one),
];

const correctionRows = ({ entries: { corrections = [] } }: OutboxRow): Cells[] =>
  corrections.map((one) => [one.jobId, one.lease, ...spentCells(one)]);

const lateRows = ({ entries: { lateCosts = [] } }: OutboxRow): Cells[] =>
  lateCosts.map((one) => [one.jobId, one.lease, ...spentCells(one), one.toldAt]);

/** What an attempt spent, as it was told first or later. */
const spentCells = (one: Correction): Cells => [
  one.inputTokens,
  one.outputTokens,
  one.cachedInputTokens,
  one.reasoningTokens,
  one.nanoUsd,
  one.source,
  one.price,
];

const auditRows = ({ seq, entries }: OutboxRow): Cells[] =>
  entries.audit.map(({ at, actor, action, target, detail }, index) => [
    lineId(seq, index),
    at,
    idsOf(actor).keyId,
    idsOf(actor).personId,
    actor.name,
    action,
    target,
    JSON.stringify(detail),
  ]);

const runRows = ({ seq, entries }: OutboxRow): Cells[] =>
  entries.runs.map((run, index) => [
    run.schedule,
    lineId(seq, index),
    run.scheduledFor,
    run.ranAt,
    run.outcome,
    run.reason,
    run.jobId,
    run.missed,
  ]);

/** Sorts in numeric order. */
const lineId = (seq: number, index: number): string =>
  `${String(seq).padStart(15, "0")}-${String(index).padStart(4, "0")}`;
