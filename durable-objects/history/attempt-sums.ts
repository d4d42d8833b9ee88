// Adds attempts up, once for all of a load. A job counts in the hour of the attempt that history has first, and as
// unpriced in the hour of its attempt of unknown cost with the lowest lease: one that comes late takes the count from a
// later attempt.

import { addedToSums, TENANT } from "./cost-sums.ts";

/** The rows of a statement. Materialised, because json_each writes a row's JSON again for each cell that is read. */
export const GIVEN = "WITH given AS MATERIALIZED (SELECT key, value FROM json_each(?2))";

/**
 * The attempts of a statement that history does not have yet, and the unpriced counts that they take from known ones.
 * Most are the first of their job, so that is looked up first.
 */
const FRESH = `${GIVEN}, told AS MATERIALIZED (
    SELECT key, value ->> 0 AS job_id, value ->> 1 AS lease, (value ->> 2) - (value ->> 2) % 3600000 AS hour_at,
      value ->> 3 AS provider, value ->> 4 AS model, value ->> 5 AS worker, value ->> 7 AS input_tokens,
      value ->> 8 AS output_tokens, value ->> 9 AS cached_input_tokens, value ->> 10 AS reasoning_tokens,
      value ->> 11 AS nano_usd,
      EXISTS (SELECT 1 FROM attempts AS known
        WHERE known.tenant = ${TENANT} AND known.job_id = given.value ->> 0) AS has_others
    FROM given),
  new_ones AS MATERIALIZED (
    SELECT told.*, NOT has_others AND key = MIN(key) OVER of_job AS jobs,
      nano_usd IS NULL AND lease = MIN(iif(nano_usd IS NULL, lease, NULL)) OVER of_job AND NOT (has_others AND EXISTS (
        SELECT 1 FROM attempts AS known WHERE known.tenant = ${TENANT} AND known.job_id = told.job_id
          AND known.lease < told.lease AND known.nano_usd IS NULL)) AS unpriced_jobs
    FROM told WHERE NOT (has_others AND EXISTS (
      SELECT 1 FROM attempts AS same
      WHERE same.tenant = ${TENANT} AND same.job_id = told.job_id AND same.lease = told.lease))
    WINDOW of_job AS (PARTITION BY job_id)),
  fresh AS MATERIALIZED (
    SELECT job_id, hour_at, provider, model, worker, jobs, unpriced_jobs, COALESCE(nano_usd, 0) AS nano_usd,
      input_tokens, output_tokens, cached_input_tokens, reasoning_tokens FROM new_ones
    UNION ALL SELECT counted.job_id, at - at % 3600000, counted.provider, counted.model, counted.worker,
      0, -1, 0, 0, 0, 0, 0
    FROM new_ones CROSS JOIN attempts AS counted ON counted.tenant = ${TENANT} AND counted.job_id = new_ones.job_id
    WHERE has_others AND unpriced_jobs AND counted.lease = (SELECT MIN(lease) FROM attempts AS unpriced
      WHERE unpriced.tenant = ${TENANT} AND unpriced.job_id = new_ones.job_id AND unpriced.nano_usd IS NULL))`;

export const SUMS = addedToSums(FRESH, "fresh");
