// What D1 must have: everything that has left the object, and everything once the outbox is empty.

import type { Job } from "../../../domain/job/job.ts";
import { ARCHIVED_COLUMNS, readArchived } from "../../../domain/job/job-record.ts";
import { isFinal } from "../../../domain/words/job-status.ts";
import { TEXT_COLUMNS, TEXTS_OF_JOBS } from "../../../src/history/job-texts.ts";
import { columnsOf } from "../../support/history-columns.ts";
import { TENANT } from "../platform/shell.ts";
import type { World } from "../world.ts";
import { auditAgrees } from "./audit.ts";
import { isSameJson } from "./same-json.ts";
import type { Snapshot } from "./snapshot.ts";

/** Changes of these are not sent to history. */
const UNSENT: ReadonlySet<string> = new Set(["heartbeatAt", "progress", "orderKey", "readyAt", "delayedBy"]);

/** What a flow was charged concerns nobody any more when the job has ended. */
const isUnsent = (name: string, { status }: Job): boolean => UNSENT.has(name) || (name === "share" && isFinal(status));

/** The hash of the secret that its request came with stays in the object. */
const sentOf = (job: Job): Job => {
  if (job.frontDoor?.openedWith === undefined) return job;
  const { openedWith: _, ...frontDoor } = job.frontDoor;
  return { ...job, frontDoor };
};

const isAsSent = (here: Job, archived: Job): boolean => {
  const job = sentOf(here);
  const names = Object.keys(job) as (keyof Job)[];
  if (names.length !== Object.keys(archived).length) return false;
  return names.every(
    (name) => job[name] === archived[name] || isUnsent(name, job) || isSameJson(job[name], archived[name]),
  );
};

const differenceOf = (world: World, job: Job, result: string | null): string | null => {
  const { model, shell } = world;
  const [row] = shell.history.rows(
    `SELECT jobs.*, ${TEXT_COLUMNS} FROM jobs ${TEXTS_OF_JOBS} WHERE jobs.tenant = ? AND jobs.id = ?`,
    TENANT,
    job.id,
  );
  if (row === undefined) return `job ${job.id} is not in history`;
  const archived = readArchived(row as never);
  if (!isAsSent(job, archived))
    return `job ${job.id} is ${job.status} (version ${job.version}), and in history ${archived.status} (version ${archived.version})`;
  const columns = columnsOf(archived);
  for (const name in columns)
    if (row[name] !== columns[name])
      return `history has ${row[name]} as ${name} of job ${job.id}, and its record has ${columns[name]}`;
  const accepted = model.accepted.get(job.id);
  if (accepted !== undefined && row.prompt !== accepted) return `history has another prompt for job ${job.id}`;
  // The answer of a batch's line is in the batch's files (`batches.ts`).
  if (job.batch !== null) return null;
  const kept = (row.result as string | null) ?? "null";
  if (result !== null && kept !== result) return `history has another result for job ${job.id}`;
  if (job.status !== "completed") return null;
  const report = (JSON.parse(kept) as { report: number } | null)?.report;
  return report !== undefined && model.reports[report]?.lease === job.lease
    ? null
    : `history lost the result of job ${job.id}`;
};

/** Jobs that were written, here or in history, since they last agreed. */
const noteWritten = (before: Snapshot, now: Snapshot, { model, shell }: World): void => {
  for (const id of shell.history.takeTouched()) model.uncompared.add(id);
  for (const id of now.reread) if (before.jobs.get(id)?.job !== now.jobs.get(id)?.job) model.uncompared.add(id);
};

export const historyKeepsWhatLeft = (before: Snapshot, now: Snapshot, world: World): string | null => {
  const { model, shell } = world;
  noteWritten(before, now, world);
  for (const id of model.uncompared) {
    const seen = model.seen.get(id);
    if (seen === undefined || now.jobs.has(id)) continue;
    const [row] = shell.history.rows(`SELECT ${ARCHIVED_COLUMNS} FROM jobs WHERE tenant = ? AND id = ?`, TENANT, id);
    const { job } = seen;
    // Between two checks it may have continued and left.
    const last = row === undefined ? job : readArchived(row as never);
    if (last.version < job.version)
      return `history has version ${last.version} of job ${id}, which left at ${job.version}`;
    if (!isFinal(last.status)) return `job ${id} is ${last.status}, and has left the object`;
    const difference = differenceOf(world, last.version === job.version ? job : last, null);
    if (difference !== null) return `${difference}, and it has left the object`;
    model.seen.set(id, { job: last, isHere: false });
    model.uncompared.delete(id);
  }
  return null;
};

export const checkHistory = (_before: Snapshot, now: Snapshot, world: World): string | null => {
  const { model } = world;
  if (now.outboxCount > 0) return null;
  for (const id of model.uncompared) {
    const row = now.jobs.get(id);
    if (row === undefined) continue;
    const difference = differenceOf(world, row.job, now.results.get(id) ?? "null");
    if (difference !== null) return difference;
  }
  model.uncompared.clear();
  const wrong = now.isWhole ? eventsAgree(world) : null;
  if (wrong !== null) return wrong;
  const state = `${world.shell.history.appliedCount} ${now.drainedSeq}`;
  if (state === model.comparedHistory) return null;
  model.comparedHistory = state;
  return attemptsAgree(world) ?? auditAgrees(world) ?? runsAgree(world);
};

/** Each event is there once and never changes. */
const eventsAgree = ({ model, shell }: World): string | null => {
  const inRows = shell.history.rows("SELECT id, events FROM jobs WHERE tenant = ?", TENANT).flatMap(({ id, events }) =>
    model.parsed.of<[number, number, string][]>(events as string).map(([version, , type]) => ({
      ...{ job_id: id, version, type: `job.${type}` },
    })),
  );
  const others = shell.history.rows("SELECT job_id, version, type FROM events WHERE tenant = ?", TENANT);
  for (const { job_id, version, type } of [...inRows, ...others]) {
    const key = `${job_id}/${version}`;
    if (model.events.get(key) !== type) return `history has event ${key} as ${type}`;
  }
  const count = inRows.length + others.length;
  return count === model.events.size ? null : `history has ${count} events, and ${model.events.size} were told`;
};

const attemptsAgree = ({ model, shell }: World): string | null => {
  const [attempts] = shell.history.rows(
    "SELECT COUNT(*) AS count, COALESCE(SUM(nano_usd), 0) AS nano_usd, COUNT(DISTINCT job_id) AS jobs, COUNT(DISTINCT CASE WHEN nano_usd IS NULL THEN job_id END) AS unpriced FROM attempts WHERE tenant = ?",
    TENANT,
  );
  if (attempts?.count !== model.attempts.size)
    return `history has ${attempts?.count} attempts, not ${model.attempts.size}`;
  if (attempts.nano_usd !== model.attemptedNanoUsd)
    return `attempts cost ${model.attemptedNanoUsd}, and in history ${attempts.nano_usd}`;
  const [hours] = shell.history.rows(
    "SELECT COALESCE(SUM(nano_usd), 0) AS nano_usd, COALESCE(SUM(jobs), 0) AS jobs, COALESCE(SUM(unpriced_jobs), 0) AS unpriced FROM cost_hours WHERE tenant = ?",
    TENANT,
  );
  if (hours?.nano_usd !== attempts.nano_usd)
    return `the hours of history add up to ${hours?.nano_usd}, its attempts to ${attempts.nano_usd}`;
  if (hours.unpriced !== attempts.unpriced)
    return `the hours of history count ${hours.unpriced} unpriced jobs, and there are ${attempts.unpriced}`;
  const [groups] = shell.history.rows(
    "SELECT COALESCE(SUM(nano_usd), 0) AS nano_usd, COALESCE(SUM(unpriced_jobs), 0) AS unpriced FROM cost_by_hours WHERE tenant = ? AND name = 'worker'",
    TENANT,
  );
  if (groups?.nano_usd !== attempts.nano_usd || groups.unpriced !== attempts.unpriced)
    return `the hours by worker add up to ${groups?.nano_usd} and ${groups?.unpriced} unpriced jobs`;
  return hours.jobs === attempts.jobs
    ? null
    : `the hours of history count ${hours.jobs} jobs, and there are ${attempts.jobs}`;
};

/** Each run of a schedule is there, once. */
const runsAgree = ({ model, shell }: World): string | null => {
  const [runs] = shell.history.rows("SELECT COUNT(*) AS count FROM schedule_runs WHERE tenant = ?", TENANT);
  return runs?.count === model.runCount
    ? null
    : `history has ${runs?.count} runs of schedules, and ${model.runCount} were told`;
};
