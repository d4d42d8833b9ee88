// What failed in a span of time, by error and by provider, with the count of the span before.

import { type FailureList, type FailuresQuery, MAX_FAILURES } from "../../contract/jobs/insight.ts";
import { fromIso, toIso } from "../../contract/words/field.ts";
import { DAY_MS, HOUR_MS } from "../../domain/words/duration.ts";
import { invalid } from "../../domain/words/refusal.ts";
import { Refused } from "../http/refused.ts";
import { readHistory } from "./store.ts";

const DEFAULT_SPAN_MS = HOUR_MS;
const MAX_SPAN_MS = 92 * DAY_MS;

/**
 * `count` is for [from, to), `previous` for the span before; the last failure of each kind has its time and id. The plus
 * keeps the planner on the index of failures: by id it would read the tenant's jobs for each kind.
 */
export const FAILURES = `WITH failed AS (
    SELECT error_code, ran_provider, ran_model, SUM(finished_at >= ?3) AS count, SUM(finished_at < ?3) AS previous,
      MAX(finished_at) AS last_at FROM jobs
    WHERE tenant = ?1 AND status = 'failed' AND finished_at >= ?2 AND finished_at < ?4
    GROUP BY error_code, ran_provider, ran_model HAVING SUM(finished_at >= ?3) > 0
    ORDER BY count DESC, last_at DESC LIMIT ${MAX_FAILURES})
  SELECT failed.*, (SELECT id FROM jobs WHERE tenant = ?1 AND status = 'failed' AND finished_at = failed.last_at
      AND error_code IS failed.error_code AND ran_provider IS failed.ran_provider AND ran_model IS failed.ran_model
      ORDER BY +id DESC LIMIT 1) AS job_id
  FROM failed`;

interface FailureRow {
  readonly error_code: string | null;
  readonly ran_provider: string | null;
  readonly ran_model: string | null;
  readonly count: number;
  readonly previous: number;
  readonly last_at: number;
  readonly job_id: string;
}

export const listFailures = (
  db: D1Database,
  tenant: string,
  query: FailuresQuery,
  nowAt: number,
): Promise<FailureList> =>
  readHistory(async () => {
    const untilAt = query.until === undefined ? nowAt + 1 : fromIso(query.until);
    const sinceAt = query.since === undefined ? untilAt - DEFAULT_SPAN_MS : fromIso(query.since);
    if (sinceAt >= untilAt) throw new Refused(invalid("since", "must be before until"));
    if (untilAt - sinceAt > MAX_SPAN_MS) throw new Refused(invalid("since", "must be at most 92 days before until"));
    const beforeAt = sinceAt - (untilAt - sinceAt);
    const { results } = await db.prepare(FAILURES).bind(tenant, beforeAt, sinceAt, untilAt).all<FailureRow>();
    const messages = await messagesOf(
      db,
      tenant,
      results.map((row) => row.job_id),
    );
    const failures = results.map((row) => ({
      code: row.error_code ?? "",
      provider: row.ran_provider,
      model: row.ran_model,
      count: row.count,
      previous_count: row.previous,
      last_at: toIso(row.last_at),
      message: messages.get(row.job_id) ?? "",
      job_id: row.job_id,
    }));
    return { since: toIso(sinceAt), until: toIso(untilAt), failures };
  });

const messagesOf = async (db: D1Database, tenant: string, ids: readonly string[]): Promise<Map<string, string>> => {
  const { results } = await db
    .prepare("SELECT id, error_message FROM jobs WHERE tenant = ?1 AND id IN (SELECT value FROM json_each(?2))")
    .bind(tenant, JSON.stringify(ids))
    .all<{ id: string; error_message: string | null }>();
  return new Map(results.map(({ id, error_message }) => [id, error_message ?? ""]));
};
