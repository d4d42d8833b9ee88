// Adds attempts up by hour and by what they are grouped by, once for all of a load: tag, metadata.<name>, key, worker,
// schedule. A job counts in the hour of the attempt that history has first, and as unpriced in the hour of its attempt of
// unknown cost with the lowest lease: one that comes late takes the count from a later attempt. An empty value stands for none, so that the rows of a name add up to the total; of metadata, the rest is none.

/** The rows of a statement. Materialised, because json_each writes a row's JSON again for each cell that is read. */
export const GIVEN = "WITH given AS MATERIALIZED (SELECT key, value FROM json_each(?2))";

/** The attempts of a statement that history does not have yet, and what others lose to them; `first`: of its job. */
const FRESH = `${GIVEN}, told AS (
    SELECT key, value ->> 0 AS job_id, value ->> 1 AS lease, (value ->> 2) - (value ->> 2) % 3600000 AS hour_at,
      value ->> 3 AS provider, value ->> 4 AS model, value ->> 5 AS worker, value ->> 7 AS input_tokens,
      value ->> 8 AS output_tokens, value ->> 9 AS cached_input_tokens, value ->> 10 AS reasoning_tokens,
      value ->> 11 AS nano_usd FROM given),
  new_ones AS MATERIALIZED (
    SELECT told.*,
      ROW_NUMBER() OVER (PARTITION BY job_id ORDER BY key) = 1 AND NOT EXISTS (
        SELECT 1 FROM attempts AS known WHERE known.tenant = ?1 AND known.job_id = told.job_id) AS first,
      nano_usd IS NULL AND ROW_NUMBER() OVER (PARTITION BY job_id, nano_usd IS NULL ORDER BY lease) = 1 AND NOT EXISTS (
        SELECT 1 FROM attempts AS known WHERE known.tenant = ?1 AND known.job_id = told.job_id
          AND known.lease < told.lease AND known.nano_usd IS NULL) AS first_unpriced
    FROM told WHERE NOT EXISTS (
      SELECT 1 FROM attempts AS same WHERE same.tenant = ?1 AND same.job_id = told.job_id AND same.lease = told.lease)),
  fresh AS MATERIALIZED (
    SELECT * FROM new_ones
    UNION ALL SELECT -1 - key, counted.job_id, counted.lease, at - at % 3600000, counted.provider, counted.model,
      counted.worker, 0, 0, 0, 0, 0, 0, -1
    FROM new_ones JOIN attempts AS counted ON counted.tenant = ?1 AND counted.job_id = new_ones.job_id
    WHERE first_unpriced AND counted.lease = (SELECT MIN(lease) FROM attempts AS unpriced
      WHERE unpriced.tenant = ?1 AND unpriced.job_id = new_ones.job_id AND unpriced.nano_usd IS NULL))`;

const COLUMNS = `jobs, unpriced_jobs, nano_usd, input_tokens, output_tokens, cached_input_tokens, reasoning_tokens`;
const TOTALS = `SUM(first), SUM(first_unpriced), SUM(COALESCE(nano_usd, 0)), SUM(input_tokens), SUM(output_tokens),
    SUM(cached_input_tokens), SUM(reasoning_tokens)`;
const ADDED = COLUMNS.split(", ")
  .map((name) => `${name} = ${name} + excluded.${name}`)
  .join(", ");

const BY_MODEL = `${FRESH}
  INSERT INTO cost_hours (tenant, hour_at, provider, model, ${COLUMNS})
  SELECT ?1, hour_at, provider, model, ${TOTALS} FROM fresh WHERE true GROUP BY hour_at, provider, model
  ON CONFLICT (tenant, hour_at, provider, model) DO UPDATE SET ${ADDED}`;

const BY_OTHERS = `${FRESH}, placed AS MATERIALIZED (
    SELECT key, key_id, schedule, labels FROM fresh JOIN jobs ON jobs.tenant = ?1 AND jobs.id = fresh.job_id),
  groups AS (
    SELECT key, 'worker' AS name, worker AS value FROM fresh
    UNION ALL SELECT key, 'key', COALESCE(key_id, '') FROM placed
    UNION ALL SELECT key, 'schedule', COALESCE(schedule, '') FROM placed
    UNION ALL SELECT placed.key, label.value ->> 0, label.value ->> 1 FROM placed, json_each(labels) AS label
      WHERE label.value ->> 0 = 'tag' OR label.value ->> 0 GLOB 'metadata.*'
    UNION ALL SELECT key, 'tag', '' FROM placed
      WHERE NOT EXISTS (SELECT 1 FROM json_each(labels) WHERE value ->> 0 = 'tag'))
  INSERT INTO cost_by_hours (tenant, name, hour_at, value, ${COLUMNS})
  SELECT ?1, name, hour_at, value, ${TOTALS} FROM groups JOIN fresh USING (key) WHERE true GROUP BY name, hour_at, value
  ON CONFLICT (tenant, name, hour_at, value) DO UPDATE SET ${ADDED}`;

export const SUMS = [BY_MODEL, BY_OTHERS];
