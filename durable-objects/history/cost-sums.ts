// Adds to the sums of cost what the rows of a CTE have: by hour and model, and by hour and what else attempts are grouped
// by: tag, metadata.<name>, key, worker, schedule. An empty value stands for none, so that the rows of a name add up to
// the total; of metadata, the rest is none.

/**
 * The tenant, as an expression: where a table has a partial index, SQLite looks at the value of a bare variable that a
 * column is compared with, and prepares the whole statement again each time it is bound.
 */
export const TENANT = "+?1";

export const NAMES = [
  ...["jobs", "unpriced_jobs", "nano_usd"],
  ...["input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens"],
];
export const COLUMNS = NAMES.join(", ");
const TOTALS = NAMES.map((name) => `SUM(${name}) AS ${name}`).join(", ");
export const ADDED = NAMES.map((name) => `${name} = ${name} + excluded.${name}`).join(", ");

/**
 * `clause` is a WITH clause, `rows` its CTE that has `job_id`, `hour_at`, `provider`, `model`, `worker` and what is
 * added. Rows are added up first by all that they are grouped by, so that what many have in common is looked at once.
 * LEFT JOIN looks each job up; after a plain one SQLite may read all of the tenant's.
 */
export const addedToSums = (clause: string, rows: string): readonly string[] => [
  `${clause}
  INSERT INTO cost_hours (tenant, hour_at, provider, model, ${COLUMNS})
  SELECT ?1, hour_at, provider, model, ${TOTALS} FROM ${rows} WHERE true GROUP BY hour_at, provider, model
  ON CONFLICT (tenant, hour_at, provider, model) DO UPDATE SET ${ADDED}`,
  `${clause}, placed AS MATERIALIZED (
    SELECT hour_at, ${rows}.worker, key_id, schedule, labels, ${TOTALS}
    FROM ${rows} LEFT JOIN jobs ON jobs.tenant = ${TENANT} AND jobs.id = ${rows}.job_id
    GROUP BY hour_at, ${rows}.worker, key_id, schedule, labels),
  of_jobs AS (SELECT * FROM placed WHERE labels IS NOT NULL),
  groups AS (
    SELECT 'worker' AS name, worker AS value, * FROM placed
    UNION ALL SELECT 'key', COALESCE(key_id, ''), * FROM of_jobs
    UNION ALL SELECT 'schedule', COALESCE(schedule, ''), * FROM of_jobs
    UNION ALL SELECT label.value ->> 0, label.value ->> 1, of_jobs.* FROM of_jobs, json_each(labels) AS label
      WHERE label.value ->> 0 = 'tag' OR label.value ->> 0 GLOB 'metadata.*'
    UNION ALL SELECT 'tag', '', * FROM of_jobs
      WHERE NOT EXISTS (SELECT 1 FROM json_each(labels) WHERE value ->> 0 = 'tag'))
  INSERT INTO cost_by_hours (tenant, name, hour_at, value, ${COLUMNS})
  SELECT ?1, name, hour_at, value, ${TOTALS} FROM groups WHERE true GROUP BY name, hour_at, value
  ON CONFLICT (tenant, name, hour_at, value) DO UPDATE SET ${ADDED}`,
];
