-- What lists filter by, and the words of prompts and errors, become one full-text index: a posting takes a few bytes,
-- and an intersection of several is quick. Only the index is kept. Texts and events come into the job's own row.
DROP TRIGGER jobs_labelled;--> statement-breakpoint
DROP TRIGGER jobs_relabelled;--> statement-breakpoint
DROP TRIGGER jobs_forgotten;--> statement-breakpoint
DROP TRIGGER payloads_worded;--> statement-breakpoint
DROP TRIGGER jobs_reworded;--> statement-breakpoint
DROP TRIGGER attempts_add_up;--> statement-breakpoint
DROP TABLE job_words;--> statement-breakpoint
DROP TABLE `job_labels`;--> statement-breakpoint
DROP INDEX `jobs_by_status`;--> statement-breakpoint
DROP INDEX `jobs_by_schedule`;--> statement-breakpoint
DROP INDEX `jobs_by_worker`;--> statement-breakpoint
DROP INDEX `jobs_by_key`;--> statement-breakpoint
DROP INDEX `jobs_by_error`;--> statement-breakpoint
DROP INDEX `jobs_newest`;--> statement-breakpoint
DROP INDEX `jobs_by_finish`;--> statement-breakpoint
DROP INDEX `jobs_by_cost`;--> statement-breakpoint
ALTER TABLE `jobs` ADD `prompt` text;--> statement-breakpoint
ALTER TABLE `jobs` ADD `input` text;--> statement-breakpoint
ALTER TABLE `jobs` ADD `result` text;--> statement-breakpoint
ALTER TABLE `jobs` ADD `events` text;--> statement-breakpoint
CREATE INDEX `jobs_failed` ON `jobs` (`tenant`,`finished_at`,`error_code`,`ran_provider`,`ran_model`) WHERE status = 'failed';--> statement-breakpoint
CREATE INDEX `jobs_newest` ON `jobs` (`tenant`,`created_at`);--> statement-breakpoint
CREATE INDEX `jobs_by_finish` ON `jobs` (`tenant`,`finished_at`);--> statement-breakpoint
CREATE INDEX `jobs_by_cost` ON `jobs` (`tenant`,`cost_nano_usd`);
--> statement-breakpoint
-- A job's terms. A sign that no word of a text has begins those that are no words: the tenant, and the tenant with what
-- the job is found by. Names and values are in hexadecimal digits, other letters divide them.
CREATE VIEW job_documents AS
SELECT seq, tenant, id,
  '§' || hex(tenant) ||
  ' §' || hex(tenant) || 's' || hex(status) ||
  iif(worker IS NULL, '', ' §' || hex(tenant) || 'w' || hex(worker)) ||
  iif(key_id IS NULL, '', ' §' || hex(tenant) || 'k' || hex(key_id)) ||
  iif(schedule IS NULL, '', ' §' || hex(tenant) || 'h' || hex(schedule)) ||
  iif(ran_provider IS NULL, '', ' §' || hex(tenant) || 'r' || hex(ran_provider)) ||
  iif(error_code IS NULL, '', ' §' || hex(tenant) || 'y' || hex(error_code)) ||
  iif(record ->> '$.error.status' IS NULL, '', ' §' || hex(tenant) || 'y' || hex(record ->> '$.error.status')) ||
  COALESCE((SELECT group_concat(' §' || hex(tenant) || 'x' || hex(value ->> 0) || 'x' || hex(value ->> 1), '')
    FROM json_each(labels)), '') ||
  ' ' || replace(substr(COALESCE(prompt, (SELECT payloads.prompt FROM payloads
    WHERE payloads.tenant = jobs.tenant AND payloads.job_id = jobs.id), ''), 1, 4096), '§', ' ') ||
  ' ' || replace(COALESCE(error_message, ''), '§', ' ') AS terms
FROM jobs;
--> statement-breakpoint
CREATE VIRTUAL TABLE job_terms USING fts5(terms, content = '', contentless_delete = 1, detail = none, tokenize = "unicode61 tokenchars '§'");
--> statement-breakpoint
INSERT INTO job_terms (rowid, terms) SELECT seq, terms FROM job_documents ORDER BY seq;
--> statement-breakpoint
CREATE TRIGGER jobs_termed AFTER INSERT ON jobs
BEGIN
  INSERT INTO job_terms (rowid, terms) SELECT seq, terms FROM job_documents WHERE seq = NEW.seq;
END;
--> statement-breakpoint
CREATE TRIGGER jobs_retermed AFTER UPDATE OF status, worker, ran_provider, error_code, error_message, labels, prompt ON jobs
WHEN NEW.status <> OLD.status OR NEW.worker IS NOT OLD.worker OR NEW.ran_provider IS NOT OLD.ran_provider
  OR NEW.error_code IS NOT OLD.error_code OR NEW.error_message IS NOT OLD.error_message OR NEW.labels <> OLD.labels
  OR NEW.prompt IS NOT OLD.prompt
BEGIN
  DELETE FROM job_terms WHERE rowid = NEW.seq;
  INSERT INTO job_terms (rowid, terms) SELECT seq, terms FROM job_documents WHERE seq = NEW.seq;
END;
--> statement-breakpoint
CREATE TRIGGER jobs_forgotten AFTER DELETE ON jobs
BEGIN
  DELETE FROM job_terms WHERE rowid = OLD.seq;
END;
--> statement-breakpoint
-- The prompt of a job that an earlier release wrote: it comes after its job's row.
CREATE TRIGGER payloads_termed AFTER INSERT ON payloads
WHEN (SELECT prompt IS NULL FROM jobs WHERE tenant = NEW.tenant AND id = NEW.job_id)
BEGIN
  DELETE FROM job_terms WHERE rowid = (SELECT seq FROM jobs WHERE tenant = NEW.tenant AND id = NEW.job_id);
  INSERT INTO job_terms (rowid, terms) SELECT seq, terms FROM job_documents WHERE tenant = NEW.tenant AND id = NEW.job_id;
END;
--> statement-breakpoint
-- An attempt is two rows less without row ids and with sums that are added up once for many.
CREATE TABLE attempts_next (
	`tenant` text NOT NULL,
	`job_id` text NOT NULL,
	`lease` integer NOT NULL,
	`at` integer NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`worker` text NOT NULL,
	`outcome` text NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	`nano_usd` integer,
	`source` text NOT NULL,
	`price` text,
	`is_summed` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`tenant`, `job_id`, `lease`)
) WITHOUT ROWID;
--> statement-breakpoint
INSERT INTO attempts_next SELECT tenant, job_id, lease, at, provider, model, worker, outcome, input_tokens, output_tokens,
  cached_input_tokens, reasoning_tokens, nano_usd, source, price, 1 FROM attempts;
--> statement-breakpoint
DROP VIEW attempt_groups;--> statement-breakpoint
DROP TABLE attempts;--> statement-breakpoint
ALTER TABLE attempts_next RENAME TO attempts;--> statement-breakpoint
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
-- Only those of an earlier release, while it is being replaced, and of a tenant that moves here.
CREATE TRIGGER attempts_add_up AFTER INSERT ON attempts WHEN NEW.is_summed = 0
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
