// Packs the long texts of jobs that ended a while ago, in bounded steps from the minute's cron: neither the tenant's
// object nor its drain spends time on it, what people look at most is read as it is, and texts of earlier releases are
// packed, too. The start of a prompt stays as it is until its job is completed: when a job changes, the words of the
// search are read from there again.

import type { Allowance, Cost } from "../../domain/words/allowance.ts";
import { HOUR_MS } from "../../domain/words/duration.ts";
import { inTurns, STEPS_A_MINUTE } from "./in-turns.ts";
import { isHere } from "./is-here.ts";
import { MIN_PACKED_CHARS, pack } from "./packed-text.ts";
import { TenantHistory } from "./tenant-history.ts";

const PACKED_AFTER_MS = HOUR_MS;
const SCANNED_A_STEP = 2_000;
/** One job may be larger. */
const CHARS_A_STEP = 1_000_000;
/** D1 allows 2 MB per bound value; the largest text takes 1.7 MB. */
const STATEMENT_CHARS = 1_700_000;
/** Finding the jobs, reading their texts, writing them, and how far it is. */
const STEP_COST: Cost = { queries: 14, requests: 14 };

interface Due {
  readonly history: TenantHistory;
  readonly from: number;
}

const dueTenants = async (db: D1Database, before: number): Promise<{ tenant: string; from: number }[]> => {
  const { results } = await db
    .prepare(
      `SELECT tenant, COALESCE(packed_until, 0) AS "from" FROM tenants WHERE away IS NULL AND EXISTS
         (SELECT 1 FROM jobs WHERE jobs.tenant = tenants.tenant
            AND finished_at > COALESCE(packed_until, 0) AND finished_at < ?1)
       ORDER BY COALESCE(packed_until, 0) LIMIT ${STEPS_A_MINUTE}`,
    )
    .bind(before)
    .all<{ tenant: string; from: number }>();
  return results;
};

/** The characters of a text that may be packed, else 0. */
const longOf = (column: string, isLong = `length(${column}) > ${MIN_PACKED_CHARS}`): string =>
  `iif(typeof(${column}) = 'text' AND ${isLong}, length(${column}), 0)`;

/**
 * A row with fewer fits into a page of 4 KiB, and a page that gets emptier is no room saved: the page is not filled
 * again, because later jobs stand on later pages.
 */
const MIN_START_BYTES = 3_072;
const LONG_START = longOf("prompt", `status = 'completed' AND length(CAST(prompt AS BLOB)) > ${MIN_START_BYTES}`);

/** A job of an earlier release has no start of its prompt in its row: the search reads the whole. */
const LONG_CHARS = `start_chars + iif(has_start, ${longOf("payloads.prompt")}, 0) + ${longOf("payloads.input")} + ${longOf("result")}`;

interface Found {
  readonly id: string;
  readonly at: number;
  readonly chars: number;
}

interface Scan {
  readonly found: readonly Found[];
  readonly many: number;
  readonly lastAt: number | null;
}

const scan = async ({ history, from }: Due, before: number): Promise<Scan> => {
  const scanned = `WITH scanned AS (SELECT id, finished_at AS at, prompt IS NOT NULL AS has_start,
      ${LONG_START} AS start_chars FROM jobs
    WHERE tenant = ?1 AND finished_at > ?2 AND finished_at < ?3 ORDER BY finished_at LIMIT ${SCANNED_A_STEP})`;
  const [found, counted] = await history.db.batch(
    [
      `${scanned} SELECT id, at, ${LONG_CHARS} AS chars FROM scanned
         LEFT JOIN payloads ON payloads.tenant = ?1 AND payloads.job_id = id
         LEFT JOIN results ON results.tenant = ?1 AND results.job_id = id
       WHERE ${LONG_CHARS} > 0 ORDER BY at`,
      `${scanned} SELECT COUNT(*) AS many, MAX(at) AS last FROM scanned`,
    ].map((sql) => history.statement(sql, from, before)),
  );
  const [sums] = (counted?.results ?? []) as { many: number; last: number | null }[];
  return { found: (found?.results ?? []) as Found[], many: sums?.many ?? 0, lastAt: sums?.last ?? null };
};

/** As many as one step takes, and at least one. */
const fitting = (found: readonly Found[]): number => {
  let sum = 0;
  const end = found.findIndex(({ chars }, index) => {
    sum += chars;
    return index > 0 && sum > CHARS_A_STEP;
  });
  return end < 0 ? found.length : end;
};

interface Column {
  readonly table: "jobs" | "payloads" | "results";
  readonly column: "prompt" | "input" | "result";
  readonly condition?: string;
  readonly key?: string;
  readonly long?: string;
}

const COLUMNS: readonly Column[] = [
  {
    table: "payloads",
    column: "prompt",
    condition: "AND (SELECT prompt IS NOT NULL FROM jobs WHERE jobs.tenant = ?1 AND jobs.id = job_id)",
  },
  { table: "jobs", key: "id", column: "prompt", long: LONG_START },
  { table: "payloads", column: "input" },
  { table: "results", column: "result" },
];

/** What was packed of a column, as the statements that write it. */
const packColumn = async (
  history: TenantHistory,
  ids: string,
  { table, column, condition = "", key = "job_id", long = longOf(column) }: Column,
): Promise<D1PreparedStatement[]> => {
  const { results } = await history
    .statement(
      `SELECT ${key} AS id, ${column} AS text FROM ${table} WHERE tenant = ?1 AND ${long} > 0 ${condition}
         AND ${key} IN (SELECT value FROM json_each(?2))`,
      ids,
    )
    .all<{ id: string; text: string }>();
  const groups: string[][] = [];
  let chars = Number.POSITIVE_INFINITY;
  for (const { id, text } of results) {
    const packed = await pack(text);
    if (packed === null) continue;
    const row = JSON.stringify([id, packed]);
    if (chars + row.length > STATEMENT_CHARS) {
      groups.push([]);
      chars = 0;
    }
    groups.at(-1)?.push(row);
    chars += row.length;
  }
  // The tenant's name comes with each row: by itself it would be looked up first, and each of its jobs compared with all.
  const sql = `WITH one AS MATERIALIZED (SELECT ?1 AS tenant, value ->> 0 AS id, value ->> 1 AS packed FROM json_each(?2))
    UPDATE ${table} SET ${column} = unhex(one.packed) FROM one
    WHERE ${table}.tenant = one.tenant AND ${table}.${key} = one.id AND ${long} > 0 AND ${isHere("?1")}`;
  return groups.map((group) => history.statement(sql, `[${group.join(",")}]`));
};

/** The next jobs of a tenant; where the step after it begins, or null if there is none. */
const packStep = async (due: Due, before: number): Promise<number | null> => {
  const { found, many, lastAt } = await scan(due, before);
  if (lastAt === null) return null;
  const end = fitting(found);
  const ids = JSON.stringify(found.slice(0, end).map(({ id }) => id));
  const written: D1PreparedStatement[] = [];
  if (end > 0) for (const column of COLUMNS) written.push(...(await packColumn(due.history, ids, column)));
  const unfit = found[end];
  // The next step begins with the millisecond of the job that did not fit; if nothing was packed, after the last job,
  // so that none is read twice.
  const last = found[end - 1];
  const until = unfit === undefined ? lastAt : written.length === 0 ? (last?.at ?? lastAt) : unfit.at - 1;
  const next = Math.max(until, due.from);
  const noted = "UPDATE tenants SET packed_until = ?2 WHERE tenant = ?1 AND away IS NULL";
  await due.history.db.batch([...written, due.history.statement(noted, next)]);
  return unfit !== undefined || many === SCANNED_A_STEP ? next : null;
};

interface Packing {
  /** Whether this process packs the tenant's texts. */
  readonly isOurs: (tenant: string) => boolean;
  readonly allowance: Allowance;
}

export const packTexts = async (db: D1Database, nowAt: number, { isOurs, allowance }: Packing): Promise<void> => {
  const before = nowAt - PACKED_AFTER_MS;
  const due = (await dueTenants(db, before))
    .filter(({ tenant }) => isOurs(tenant))
    .map(({ tenant, from }): Due => ({ history: new TenantHistory(db, tenant), from }));
  await inTurns(due, STEP_COST, allowance, async (one) => {
    const from = await packStep(one, before);
    return from === null ? null : { ...one, from };
  });
};
