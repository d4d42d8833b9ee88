-- Jobs get what lists find and sort them by. The table is made anew for `seq`, which names a job in the full-text index.
CREATE TABLE `jobs_next` (
	`seq` integer PRIMARY KEY NOT NULL,
	`tenant` text NOT NULL,
	`id` text NOT NULL,
	`version` integer NOT NULL,
	`status` text NOT NULL,
	`worker` text,
	`schedule` text,
	`key_id` text,
	`ran_provider` text,
	`ran_model` text,
	`error_code` text,
	`error_message` text,
	`cost_nano_usd` integer,
	`labels` text NOT NULL,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	`record` text NOT NULL
);
--> statement-breakpoint
INSERT INTO jobs_next (tenant, id, version, status, worker, schedule, ran_provider, ran_model, error_code, error_message,
  cost_nano_usd, labels, created_at, finished_at, record)
SELECT tenant, id, version, status, worker, schedule,
  CASE WHEN record ->> '$.startedAt' IS NOT NULL THEN record ->> '$.workerProvider' END,
  CASE WHEN record ->> '$.startedAt' IS NOT NULL THEN record ->> '$.model' END,
  record ->> '$.error.code', record ->> '$.error.message', record ->> '$.costNanoUsd',
  (SELECT json_group_array(json_array(name, value)) FROM (
    SELECT 'tag' AS name, value FROM json_each(jobs.tags)
    UNION SELECT 'provider', record ->> '$.provider'
    UNION SELECT 'provider', CASE WHEN record ->> '$.startedAt' IS NOT NULL THEN record ->> '$.workerProvider' END
    UNION SELECT 'model', record ->> '$.model') WHERE value IS NOT NULL),
  created_at, finished_at, record
FROM jobs ORDER BY tenant, created_at, id;
--> statement-breakpoint
DROP TABLE jobs;--> statement-breakpoint
ALTER TABLE jobs_next RENAME TO jobs;--> statement-breakpoint
CREATE UNIQUE INDEX `jobs_by_id` ON `jobs` (`tenant`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_newest` ON `jobs` (`tenant`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_by_status` ON `jobs` (`tenant`,`status`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_by_schedule` ON `jobs` (`tenant`,`schedule`,`created_at`,`id`) WHERE schedule IS NOT NULL;--> statement-breakpoint
CREATE INDEX `jobs_by_worker` ON `jobs` (`tenant`,`worker`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_by_key` ON `jobs` (`tenant`,`key_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_by_error` ON `jobs` (`tenant`,`error_code`,`created_at`,`id`) WHERE error_code IS NOT NULL;--> statement-breakpoint
CREATE INDEX `jobs_by_finish` ON `jobs` (`tenant`,`finished_at`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_by_cost` ON `jobs` (`tenant`,`cost_nano_usd`,`id`);--> statement-breakpoint
CREATE TABLE `job_labels` (
	`tenant` text NOT NULL,
	`name` text NOT NULL,
	`value` text NOT NULL,
	`created_at` integer NOT NULL,
	`job_id` text NOT NULL,
	PRIMARY KEY(`tenant`, `name`, `value`, `created_at`, `job_id`)
) WITHOUT ROWID;
--> statement-breakpoint
-- The words of a job: its tenant's name as one word, the beginning of its prompt, its error. Only the index is kept.
CREATE VIRTUAL TABLE job_words USING fts5(words, content = '', contentless_delete = 1, detail = none);
--> statement-breakpoint
INSERT INTO job_labels (tenant, name, value, created_at, job_id)
SELECT jobs.tenant, label.value ->> 0, label.value ->> 1, jobs.created_at, jobs.id FROM jobs, json_each(jobs.labels) AS label;
--> statement-breakpoint
INSERT INTO job_words (rowid, words)
SELECT jobs.seq, 'tenant' || hex(jobs.tenant) || ' ' || substr(payloads.prompt, 1, 4096) || ' ' || COALESCE(jobs.error_message, '')
FROM jobs JOIN payloads ON payloads.tenant = jobs.tenant AND payloads.job_id = jobs.id;
--> statement-breakpoint
CREATE TRIGGER jobs_labelled AFTER INSERT ON jobs
BEGIN
  INSERT INTO job_labels (tenant, name, value, created_at, job_id)
  SELECT NEW.tenant, value ->> 0, value ->> 1, NEW.created_at, NEW.id FROM json_each(NEW.labels);
END;
--> statement-breakpoint
CREATE TRIGGER jobs_relabelled AFTER UPDATE OF labels ON jobs WHEN NEW.labels <> OLD.labels
BEGIN
  DELETE FROM job_labels WHERE (tenant, name, value, created_at, job_id) IN
    (SELECT OLD.tenant, value ->> 0, value ->> 1, OLD.created_at, OLD.id FROM json_each(OLD.labels));
  INSERT INTO job_labels (tenant, name, value, created_at, job_id)
  SELECT NEW.tenant, value ->> 0, value ->> 1, NEW.created_at, NEW.id FROM json_each(NEW.labels);
END;
--> statement-breakpoint
CREATE TRIGGER jobs_forgotten AFTER DELETE ON jobs
BEGIN
  DELETE FROM job_labels WHERE (tenant, name, value, created_at, job_id) IN
    (SELECT OLD.tenant, value ->> 0, value ->> 1, OLD.created_at, OLD.id FROM json_each(OLD.labels));
  DELETE FROM job_words WHERE rowid = OLD.seq;
END;
--> statement-breakpoint
-- A payload comes once, after its job's row; the error changes with the job.
CREATE TRIGGER payloads_worded AFTER INSERT ON payloads
BEGIN
  INSERT INTO job_words (rowid, words)
  SELECT seq, 'tenant' || hex(tenant) || ' ' || substr(NEW.prompt, 1, 4096) || ' ' || COALESCE(error_message, '')
  FROM jobs WHERE tenant = NEW.tenant AND id = NEW.job_id;
END;
--> statement-breakpoint
CREATE TRIGGER jobs_reworded AFTER UPDATE OF error_message ON jobs WHEN NEW.error_message IS NOT OLD.error_message
BEGIN
  DELETE FROM job_words WHERE rowid = NEW.seq;
  INSERT INTO job_words (rowid, words)
  SELECT NEW.seq, 'tenant' || hex(NEW.tenant) || ' ' || substr(prompt, 1, 4096) || ' ' || COALESCE(NEW.error_message, '')
  FROM payloads WHERE tenant = NEW.tenant AND job_id = NEW.id;
END;
