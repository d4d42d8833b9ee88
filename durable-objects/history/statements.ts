// The statements that bring rows to D1: one per table and half a million characters, which carries its rows as a JSON
// array and may be applied twice.

import { GIVEN, SUMS } from "./attempt-sums.ts";
import { CORRECTIONS, LATE_COSTS } from "./corrections.ts";
import { USUAL_SUMS } from "./usual-sums.ts";

/** D1 allows 2 MB per bound value; a statement's rows are split well below that. */
export const STATEMENT_ROOM = { chars: 500_000 };

/** The version of the last event in a row's events. */
const lastOf = (events: string): string => `COALESCE(${events} ->> '$[#-1][0]', 0)`;
const isNew = (events: string): string => `${lastOf(events)} > ${lastOf("jobs.events")}`;
/** A job's events and those of the others that come after them: a load that is sent again may have more than it had. */
const withNew = (events: string): string => `CASE WHEN ${isNew(events)}
    THEN (SELECT json_group_array(json(value)) FROM (SELECT value FROM json_each(COALESCE(jobs.events, '[]'))
      UNION ALL SELECT value FROM json_each(${events}) WHERE value ->> 0 > ${lastOf("jobs.events")}))
    ELSE jobs.events END`;

/** Of rows with these cells. */
const insertOf = (table: string, columns: string): string => {
  const cells = columns.split(", ").map((_, index) => `value ->> ${index}`);
  return `INSERT INTO ${table} (tenant, ${columns}) SELECT ?1, ${cells.join(", ")} FROM given WHERE true`;
};

const unlessThere = (table: string, columns: string): string => `${insertOf(table, columns)} ON CONFLICT DO NOTHING`;

/** As `jobRow` has them. */
const JOB_COLUMNS =
  "id, version, status, worker, schedule, key_id, ran_provider, ran_model, error_code, error_message, cost_nano_usd, created_at, finished_at, prompt, input, result, labels, record, events";

const INSERTS = {
  tenants: unlessThere("tenants", "created_at, location_hint, jurisdiction"),
  jobs: `${insertOf("jobs", JOB_COLUMNS)}
    ON CONFLICT (tenant, id) DO UPDATE SET version = excluded.version, status = excluded.status,
      worker = excluded.worker, ran_provider = excluded.ran_provider, ran_model = excluded.ran_model,
      error_code = excluded.error_code, error_message = excluded.error_message, cost_nano_usd = excluded.cost_nano_usd,
      labels = excluded.labels, finished_at = excluded.finished_at, record = excluded.record,
      result = COALESCE(jobs.result, excluded.result), events = ${withNew("excluded.events")}
    WHERE excluded.version > jobs.version OR (excluded.version = jobs.version AND ${isNew("excluded.events")})`,
  /** Of jobs that history has in their current version. */
  told: `UPDATE jobs SET events = ${withNew("told.events")}
    FROM (SELECT value ->> 0 AS id, value ->> 1 AS events FROM given) AS told
    WHERE jobs.tenant = ?1 AND jobs.id = told.id AND ${isNew("told.events")}`,
  payloads: unlessThere("payloads", "job_id, prompt, input"),
  results: unlessThere("results", "job_id, result"),
  events: unlessThere("events", "job_id, version, at, type, worker, lease, detail"),
  attempts: `INSERT INTO attempts (tenant, job_id, lease, at, provider, model, worker, outcome, input_tokens,
      output_tokens, cached_input_tokens, reasoning_tokens, nano_usd, source, price, is_summed)
    SELECT ?1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7,
      value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, 1
    FROM given WHERE true ON CONFLICT DO NOTHING`,
  audit: unlessThere("audit", "id, at, actor_key_id, actor_person_id, actor_name, action, target, detail"),
  scheduleRuns: unlessThere("schedule_runs", "schedule, id, scheduled_for, ran_at, outcome, reason, job_id, missed"),
} as const;

/** For a row too large for JSON, whose escapes may double its size. */
const SINGLE_INSERTS = {
  payloads: "INSERT INTO payloads (tenant, job_id, prompt, input) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
  results: "INSERT INTO results (tenant, job_id, result) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
} as const;

/** One statement; `?1` is the tenant, followed by the values. */
export interface Insert {
  readonly sql: string;
  readonly values: Cells;
}

export type Cells = readonly (string | number | null)[];

const insertInto = (table: keyof typeof INSERTS): string => `${GIVEN} ${INSERTS[table]}`;

/** What takes other statements than one insert. */
const OTHERS = {
  hourSums: [USUAL_SUMS.hourSums],
  groupSums: [USUAL_SUMS.groupSums],
  /** Those that `add-up.ts` leaves to history: added up before they are inserted, so that none counts again. */
  otherAttempts: [...SUMS, insertInto("attempts")],
  /** They change rows of attempts. */
  corrections: CORRECTIONS,
  lateCosts: [LATE_COSTS],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type Table = keyof typeof INSERTS | keyof typeof OTHERS;

const isOther = (table: Table): table is keyof typeof OTHERS => Object.hasOwn(OTHERS, table);
const sqlOf = (table: Table): readonly string[] => (isOther(table) ? OTHERS[table] : [insertInto(table)]);

/** A table's rows, in as many statements as their size requires. */
export const inserts = (table: Table, rows: readonly Cells[]): Insert[] =>
  insertTexts(
    table,
    rows.map((row) => JSON.stringify(row)),
  );

/** The same for rows that are JSON arrays; a list or an object among the values becomes its JSON. */
export const insertTexts = (table: Table, rows: readonly string[]): Insert[] => {
  const statements: Insert[] = [];
  let chunk: string[] = [];
  let chars = 0;
  const close = (): void => {
    const values = [`[${chunk.join(",")}]`];
    if (chunk.length > 0) statements.push(...sqlOf(table).map((sql) => ({ sql, values })));
    chunk = [];
    chars = 0;
  };
  for (const text of rows) {
    if (chars + text.length > STATEMENT_ROOM.chars) close();
    chunk.push(text);
    chars += text.length;
  }
  close();
  return statements;
};

const isLarge = (row: Cells): boolean =>
  row.reduce<number>((chars, cell) => chars + (typeof cell === "string" ? cell.length : 0), 0) >
  STATEMENT_ROOM.chars / 2;

export const largeInserts = (table: keyof typeof SINGLE_INSERTS, rows: readonly Cells[]): Insert[] => [
  ...inserts(
    table,
    rows.filter((row) => !isLarge(row)),
  ),
  ...rows.filter(isLarge).map((values) => ({ sql: SINGLE_INSERTS[table], values })),
];
