// Moves a tenant's oldest jobs from history to the archive, a bounded number at a time. A part is written and read back
// first; then one transaction records it and deletes its jobs, each only in the version that the part has. So a step
// that breaks off anywhere loses nothing and is repeated; what it wrote and did not record is no part.

import type { JobStatus } from "../../../domain/words/job-status.ts";
import { timeOfId } from "../../../domain/words/time-of-id.ts";
import { digestOf } from "../../http/key-format.ts";
import { charsOf } from "../packed-text.ts";
import type { TenantHistory } from "../tenant-history.ts";
import { readLines } from "./lines.ts";
import { type ArchivedLine, dayOf, idsOfDay, keyOf, packPart } from "./part.ts";
import type { ArchiveStore } from "./store.ts";

const JOBS_A_PART = 500;
/** Of texts and events; one job may be larger. */
export const CHARS_A_PART = 8_000_000;
const DIGEST_IN_NAME = 8;

/** The archive's place does not take or give back what it was given: its jobs stay in history. */
export class ArchiveError extends Error {}

/** Finished jobs that left history, by status. */
export type Pruned = Partial<Record<JobStatus, number>>;

interface ArchivedPart {
  readonly pruned: Pruned;
  readonly bytes: number;
  readonly isMore: boolean;
}

const NOTHING: ArchivedPart = { pruned: {}, bytes: 0, isMore: false };

interface Due {
  readonly id: string;
  readonly chars: number;
}

/** The jobs of the oldest day, in the order of their ids, so that the parts of a day overlap little. */
const dueJobs = async (history: TenantHistory, before: number): Promise<{ day: string; due: Due[] } | null> => {
  const oldest = await history
    .statement("SELECT id FROM jobs WHERE tenant = ?1 AND finished_at < ?2 ORDER BY finished_at LIMIT 1", before)
    .first<{ id: string }>();
  if (oldest === null) return null;
  const day = dayOf(timeOfId(oldest.id));
  const [from, below] = idsOfDay(day);
  const { results } = await history
    .statement(
      `SELECT id, length(record) + COALESCE(${charsOf("prompt")}, 0) + COALESCE(length(input), 0)
         + COALESCE(length(result), 0) + COALESCE(length(events), 0)
         + COALESCE((SELECT ${charsOf("prompt")} + ${charsOf("input")} FROM payloads WHERE tenant = ?1 AND job_id = jobs.id), 0)
         + COALESCE((SELECT ${charsOf("result")} FROM results WHERE tenant = ?1 AND job_id = jobs.id), 0)
         + COALESCE((SELECT SUM(length(detail)) FROM events WHERE tenant = ?1 AND job_id = jobs.id), 0) AS chars
       FROM jobs WHERE tenant = ?1 AND id >= ?2 AND id < ?3 AND finished_at < ?4 ORDER BY id LIMIT ${JOBS_A_PART}`,
      from,
      below,
      before,
    )
    .all<Due>();
  return { day, due: results };
};

/** As many as one part takes, and at least one. */
const fitting = (due: readonly Due[]): string[] => {
  const ids: string[] = [];
  let sum = 0;
  for (const { id, chars } of due) {
    sum += chars;
    if (ids.length > 0 && sum > CHARS_A_PART) break;
    ids.push(id);
  }
  return ids;
};

const confirmed = async (store: ArchiveStore, key: string, bytes: Uint8Array<ArrayBuffer>, sha256: string) => {
  try {
    await store.put(key, bytes);
    const kept = await store.get(key);
    if (kept === null || (await digestOf(kept)) !== sha256) throw new Error("it gave back something else");
  } catch (error) {
    throw new ArchiveError(`the archive did not keep ${key}`, { cause: error });
  }
};

/** The tables with a job's rows, beside the job itself. Its row goes last: it says what is to go. */
export const OF_A_JOB = ["payloads", "results", "events", "attempts"] as const;

/** The jobs that a batch has deleted, by status, which its last statement returns. */
export const prunedBy = (deleted: readonly D1Result<{ status: JobStatus }>[]): Pruned => {
  const pruned: Pruned = {};
  for (const { status } of deleted.at(-1)?.results ?? []) pruned[status] = (pruned[status] ?? 0) + 1;
  return pruned;
};

export const archiveStep = async (
  history: TenantHistory,
  store: ArchiveStore,
  before: number,
): Promise<ArchivedPart> => {
  const found = await dueJobs(history, before);
  const made = await history
    .statement("SELECT created_at FROM tenants WHERE tenant = ?1")
    .first<{ created_at: number }>();
  if (found === null || made === null) return NOTHING;
  const ids = fitting(found.due);
  const lines = await readLines(history, ids);
  if (lines.length === 0) return NOTHING;
  const bytes = await packPart(lines);
  const sha256 = await digestOf(bytes);
  const part = { day: found.day, name: `${lines[0]?.id}-${sha256.slice(0, DIGEST_IN_NAME)}.ndjson.gz` };
  const key = keyOf(history.tenant, part);
  await confirmed(store, key, bytes, sha256);
  const pruned = await recordPart(history, made.created_at, { ...part, lines, bytes: bytes.length, sha256 });
  if (pruned === null) {
    await store.remove(key);
    return NOTHING;
  }
  const isMore = ids.length < found.due.length || found.due.length === JOBS_A_PART;
  return { pruned, bytes: bytes.length, isMore };
};

interface WrittenPart {
  readonly day: string;
  readonly name: string;
  readonly lines: readonly ArchivedLine[];
  readonly bytes: number;
  readonly sha256: string;
}

/** Null if the tenant was deleted meanwhile, or moves away. */
const recordPart = async (
  history: TenantHistory,
  createdAt: number,
  { day, name, lines, bytes, sha256 }: WrittenPart,
): Promise<Pruned | null> => {
  const insert = history.statement(
    `INSERT INTO archive_parts (tenant, day, name, min_id, max_id, jobs, bytes, sha256)
       SELECT tenant, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM tenants WHERE tenant = ?1 AND created_at = ?2 AND away IS NULL
       ON CONFLICT DO UPDATE SET sha256 = excluded.sha256`,
    createdAt,
    day,
    name,
    lines[0]?.id,
    lines.at(-1)?.id,
    lines.length,
    bytes,
    sha256,
  );
  // Joined the other way round, each of the tenant's jobs would be compared with each of the part.
  const versions = JSON.stringify(lines.map(({ id, version }) => [id, version]));
  const listed = `IN (SELECT jobs.id FROM json_each(?2) AS one
      CROSS JOIN jobs ON jobs.tenant = ?1 AND jobs.id = one.value ->> 0 AND jobs.version = one.value ->> 1
    WHERE EXISTS (SELECT 1 FROM archive_parts WHERE tenant = ?1 AND day = ?3 AND name = ?4)
      AND EXISTS (SELECT 1 FROM tenants WHERE tenant = ?1 AND away IS NULL))`;
  const bind = (sql: string) => history.statement(sql, versions, day, name);
  const [inserted, ...deleted] = await history.db.batch<{ status: JobStatus }>([
    insert,
    ...OF_A_JOB.map((table) => bind(`DELETE FROM ${table} WHERE tenant = ?1 AND job_id ${listed}`)),
    bind(`DELETE FROM jobs WHERE tenant = ?1 AND id ${listed} RETURNING status`),
  ]);
  if (inserted?.meta.changes === 0) return null;
  return prunedBy(deleted);
};
