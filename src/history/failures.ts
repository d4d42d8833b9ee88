// What failed in a span of time, by error and by provider, with the count of the span before.

import { type FailureList, type FailuresQuery, MAX_FAILURES, RETRIES_LOOKED_AT } from "../../contract/jobs/insight.ts";
import { fromIso, toIso } from "../../contract/words/field.ts";
import { DAY_MS, HOUR_MS } from "../../domain/words/duration.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { Refused } from "../http/refused.ts";
import { readHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";

const DEFAULT_SPAN_MS = HOUR_MS;
const MAX_SPAN_MS = 92 * DAY_MS;

/** Of further ones none is looked at. */
const MAX_KINDS = 10_000;

const KIND = "quote(error_code) || ' ' || quote(ran_provider) || ' ' || quote(ran_model)";
const FAILED = "FROM jobs INDEXED BY jobs_failed_kinds WHERE tenant = ?1 AND status = 'failed'";
const OF_KIND = `${FAILED} AND ${KIND} = kind AND finished_at`;

/**
 * From kind to kind, and in each the entries of [from, to) are counted; `previous` is for the span before. The last
 * failure of each kind is shown. The plus keeps the planner on the index: by id it would read the tenant's jobs.
 */
export const FAILURES = `WITH RECURSIVE kinds(kind) AS (
    SELECT MIN(${KIND}) ${FAILED}
    UNION ALL SELECT (SELECT MIN(${KIND}) ${FAILED} AND ${KIND} > kind) FROM kinds WHERE kind IS NOT NULL
    LIMIT ${MAX_KINDS}),
  counted AS MATERIALIZED (SELECT kind, (SELECT COUNT(*) ${OF_KIND} >= ?3 AND finished_at < ?4) AS count
    FROM kinds WHERE kind IS NOT NULL),
  failed AS MATERIALIZED (SELECT kind, count, (SELECT MAX(finished_at) ${OF_KIND} < ?4) AS last_at
    FROM counted WHERE count > 0 ORDER BY count DESC, last_at DESC LIMIT ${MAX_FAILURES})
  SELECT id, error_code, error_message, ran_provider, ran_model, count, last_at,
    (SELECT COUNT(*) ${OF_KIND} >= ?2 AND finished_at < ?3) AS previous, record ->> '$.batch' AS batch,
    (SELECT MAX(record ->> '$.api' IS NULL) FROM
      (SELECT record ${OF_KIND} >= ?3 AND finished_at < ?4 ORDER BY finished_at DESC LIMIT ${RETRIES_LOOKED_AT})) AS retryable
  FROM failed CROSS JOIN jobs ON jobs.seq = (SELECT seq ${OF_KIND} = last_at ORDER BY +id DESC LIMIT 1)
  ORDER BY count DESC, last_at DESC`;

interface FailureRow {
  readonly error_code: string | null;
  readonly ran_provider: string | null;
  readonly ran_model: string | null;
  readonly count: number;
  readonly previous: number;
  readonly last_at: number;
  readonly id: string;
  readonly error_message: string | null;
  readonly batch: string | null;
  readonly retryable: number;
}

export const listFailures = (history: TenantHistory, query: FailuresQuery, nowAt: number): Promise<FailureList> =>
  readHistory(async () => {
    const untilAt = query.until === undefined ? nowAt + 1 : fromIso(query.until);
    const sinceAt = query.since === undefined ? untilAt - DEFAULT_SPAN_MS : fromIso(query.since);
    if (sinceAt >= untilAt) throw new Refused(invalid("since", "must be before until"));
    if (untilAt - sinceAt > MAX_SPAN_MS) throw new Refused(invalid("since", "must be at most 92 days before until"));
    const beforeAt = sinceAt - (untilAt - sinceAt);
    const { results } = await history.statement(FAILURES, beforeAt, sinceAt, untilAt).all<FailureRow>();
    const failures = results.map((row) => ({
      code: row.error_code ?? "",
      provider: row.ran_provider,
      model: row.ran_model,
      count: row.count,
      previous_count: row.previous,
      last_at: toIso(row.last_at),
      message: row.error_message ?? "",
      job_id: row.id,
      batch: row.batch,
      retryable: row.retryable === 1,
    }));
    return { since: toIso(sinceAt), until: toIso(untilAt), failures };
  });
