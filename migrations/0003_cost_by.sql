-- Attempts added up by hour and by what they are grouped by: tag, metadata.<name>, key, worker, schedule. An empty value
-- stands for none, so that the rows of a name add up to the total; of metadata, the rest of the total is none.
CREATE TABLE `cost_by_hours` (
	`tenant` text NOT NULL,
	`name` text NOT NULL,
	`hour_at` integer NOT NULL,
	`value` text NOT NULL,
	`jobs` integer NOT NULL,
	`unpriced_jobs` integer NOT NULL,
	`nano_usd` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	PRIMARY KEY(`tenant`, `name`, `hour_at`, `value`)
) WITHOUT ROWID;
--> statement-breakpoint
-- What an attempt is grouped by.
CREATE VIEW attempt_groups AS
SELECT tenant, job_id, lease, 'worker' AS name, worker AS value FROM attempts
UNION ALL SELECT attempts.tenant, job_id, lease, 'key', COALESCE(key_id, '')
  FROM attempts JOIN jobs ON jobs.tenant = attempts.tenant AND jobs.id = attempts.job_id
UNION ALL SELECT attempts.tenant, job_id, lease, 'schedule', COALESCE(schedule, '')
  FROM attempts JOIN jobs ON jobs.tenant = attempts.tenant AND jobs.id = attempts.job_id
UNION ALL SELECT attempts.tenant, job_id, lease, label.value ->> 0, label.value ->> 1
  FROM attempts JOIN jobs ON jobs.tenant = attempts.tenant AND jobs.id = attempts.job_id, json_each(jobs.labels) AS label
  WHERE label.value ->> 0 = 'tag' OR label.value ->> 0 GLOB 'metadata.*'
UNION ALL SELECT attempts.tenant, job_id, lease, 'tag', ''
  FROM attempts JOIN jobs ON jobs.tenant = attempts.tenant AND jobs.id = attempts.job_id
  WHERE NOT EXISTS (SELECT 1 FROM json_each(jobs.labels) WHERE value ->> 0 = 'tag');
--> statement-breakpoint
INSERT INTO cost_by_hours (tenant, name, hour_at, value, jobs, unpriced_jobs, nano_usd,
  input_tokens, output_tokens, cached_input_tokens, reasoning_tokens)
SELECT attempts.tenant, groups.name, at - at % 3600000, groups.value, SUM(attempts.lease = first.lease),
  SUM(nano_usd IS NULL AND attempts.lease = first.unpriced_lease), SUM(COALESCE(nano_usd, 0)),
  SUM(input_tokens), SUM(output_tokens), SUM(cached_input_tokens), SUM(reasoning_tokens)
FROM attempts
JOIN attempt_groups AS groups USING (tenant, job_id, lease)
JOIN (SELECT tenant, job_id, MIN(lease) AS lease, MIN(CASE WHEN nano_usd IS NULL THEN lease END) AS unpriced_lease
  FROM attempts GROUP BY tenant, job_id) AS first ON first.tenant = attempts.tenant AND first.job_id = attempts.job_id
GROUP BY 1, 2, 3, 4;
--> statement-breakpoint
DROP TRIGGER attempts_add_up;--> statement-breakpoint
-- Each attempt is inserted once, so each is added once, however often its batch is applied. A job counts in the hour of
-- its first attempt, and as unpriced in the hour of its first attempt of unknown cost, which adds nothing to the sum.
CREATE TRIGGER attempts_add_up AFTER INSERT ON attempts
BEGIN
  INSERT INTO cost_hours (tenant, hour_at, provider, model, jobs, unpriced_jobs, nano_usd,
    input_tokens, output_tokens, cached_input_tokens, reasoning_tokens)
  VALUES (NEW.tenant, NEW.at - NEW.at % 3600000, NEW.provider, NEW.model,
    (SELECT COUNT(*) = 1 FROM attempts WHERE tenant = NEW.tenant AND job_id = NEW.job_id),
    NEW.nano_usd IS NULL AND
      (SELECT COUNT(*) = 1 FROM attempts WHERE tenant = NEW.tenant AND job_id = NEW.job_id AND nano_usd IS NULL),
    COALESCE(NEW.nano_usd, 0),
    NEW.input_tokens, NEW.output_tokens, NEW.cached_input_tokens, NEW.reasoning_tokens)
  ON CONFLICT (tenant, hour_at, provider, model) DO UPDATE SET
    jobs = jobs + excluded.jobs,
    unpriced_jobs = unpriced_jobs + excluded.unpriced_jobs,
    nano_usd = nano_usd + excluded.nano_usd,
    input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens;
  INSERT INTO cost_by_hours (tenant, name, hour_at, value, jobs, unpriced_jobs, nano_usd,
    input_tokens, output_tokens, cached_input_tokens, reasoning_tokens)
  SELECT NEW.tenant, name, NEW.at - NEW.at % 3600000, value,
    (SELECT COUNT(*) = 1 FROM attempts WHERE tenant = NEW.tenant AND job_id = NEW.job_id),
    NEW.nano_usd IS NULL AND
      (SELECT COUNT(*) = 1 FROM attempts WHERE tenant = NEW.tenant AND job_id = NEW.job_id AND nano_usd IS NULL),
    COALESCE(NEW.nano_usd, 0),
    NEW.input_tokens, NEW.output_tokens, NEW.cached_input_tokens, NEW.reasoning_tokens
  FROM attempt_groups WHERE tenant = NEW.tenant AND job_id = NEW.job_id AND lease = NEW.lease
  ON CONFLICT (tenant, name, hour_at, value) DO UPDATE SET
    jobs = jobs + excluded.jobs,
    unpriced_jobs = unpriced_jobs + excluded.unpriced_jobs,
    nano_usd = nano_usd + excluded.nano_usd,
    input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
    reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens;
END;
