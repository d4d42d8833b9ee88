-- A row must be read once to know whether its job has failed; successful jobs have no entry.
DROP INDEX `jobs_failed`;--> statement-breakpoint
CREATE INDEX `jobs_failed_kinds` ON `jobs` (`tenant`,quote(error_code) || ' ' || quote(ran_provider) || ' ' || quote(ran_model),`finished_at`) WHERE status = 'failed';
