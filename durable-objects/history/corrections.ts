// What attempts spent, told after their estimates came to history: the estimates' rows change, and the sums of their
// hours by the difference. Applied twice they have no effect, because a row that was corrected is `told`. All three
// statements run in one transaction, in this order.

import { addedToSums, TENANT } from "./cost-sums.ts";

/** `?2` has the corrections. */
const TOLD = `WITH told AS MATERIALIZED (
  SELECT value ->> 0 AS job_id, value ->> 1 AS lease, value ->> 2 AS input_tokens, value ->> 3 AS output_tokens,
    value ->> 4 AS cached_input_tokens, value ->> 5 AS reasoning_tokens, value ->> 6 AS nano_usd, value ->> 7 AS source,
    value ->> 8 AS price, value ->> 9 AS told_at
  FROM json_each(?2))`;

/**
 * A job counts as unpriced in the hour of the first of its attempts that have no price. When that one gets a price, the
 * next of them that has none takes the count.
 */
const CHANGES = `${TOLD}, corrected AS MATERIALIZED (
  SELECT attempts.job_id, attempts.lease, at - at % 3600000 AS hour_at, provider, model, worker, 0 AS jobs,
    -(attempts.nano_usd IS NULL AND told.nano_usd IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM attempts AS other
      WHERE other.tenant = ${TENANT} AND other.job_id = attempts.job_id AND other.lease < attempts.lease
        AND other.nano_usd IS NULL)) AS unpriced_jobs,
    COALESCE(told.nano_usd, 0) - COALESCE(attempts.nano_usd, 0) AS nano_usd,
    told.input_tokens - attempts.input_tokens AS input_tokens,
    told.output_tokens - attempts.output_tokens AS output_tokens,
    told.cached_input_tokens - attempts.cached_input_tokens AS cached_input_tokens,
    told.reasoning_tokens - attempts.reasoning_tokens AS reasoning_tokens
  FROM told CROSS JOIN attempts
    ON attempts.tenant = ${TENANT} AND attempts.job_id = told.job_id AND attempts.lease = told.lease
  WHERE attempts.outcome = 'late'),
  next AS (
    SELECT attempts.job_id, MIN(attempts.lease) AS lease
    FROM corrected CROSS JOIN attempts ON attempts.tenant = ${TENANT} AND attempts.job_id = corrected.job_id
    WHERE corrected.unpriced_jobs = -1 AND attempts.nano_usd IS NULL AND NOT EXISTS (
      SELECT 1 FROM told WHERE told.job_id = attempts.job_id AND told.lease = attempts.lease
        AND told.nano_usd IS NOT NULL)
    GROUP BY attempts.job_id),
  changes AS MATERIALIZED (
    SELECT * FROM corrected
    UNION ALL SELECT job_id, lease, at - at % 3600000, provider, model, worker, 0, 1, 0, 0, 0, 0, 0
    FROM next CROSS JOIN attempts USING (job_id, lease) WHERE attempts.tenant = ${TENANT})`;

export const CORRECTIONS: readonly string[] = [
  ...addedToSums(CHANGES, "changes"),
  `${TOLD} UPDATE attempts SET outcome = 'told', input_tokens = told.input_tokens, output_tokens = told.output_tokens,
      cached_input_tokens = told.cached_input_tokens, reasoning_tokens = told.reasoning_tokens,
      nano_usd = told.nano_usd, source = told.source, price = told.price
    FROM told
    WHERE attempts.tenant = ${TENANT} AND attempts.job_id = told.job_id AND attempts.lease = told.lease
      AND attempts.outcome = 'late'`,
];

/**
 * Shows the cost of a job's last attempt in the record of the job, which has ended and left the object. If the job went
 * on since, the object decides. `+` makes SQLite look only at the jobs in `told`.
 */
export const LATE_COSTS = `${TOLD} UPDATE jobs SET cost_nano_usd = COALESCE(told.nano_usd, cost_nano_usd),
    record = iif(told.input_tokens + told.output_tokens = 0, record, json_patch(record, json_object('usage',
      json_object('inputTokens', told.input_tokens, 'outputTokens', told.output_tokens,
        'cachedInputTokens', NULLIF(told.cached_input_tokens, 0), 'reasoningTokens', NULLIF(told.reasoning_tokens, 0)))))
  FROM told
  WHERE jobs.tenant = ${TENANT} AND jobs.id = +told.job_id AND jobs.status IN ('failed', 'cancelled')
    AND jobs.record ->> '$.lease' = +told.lease AND jobs.finished_at <= +told.told_at`;
