ALTER TABLE `tenants` ADD `keep_days` integer;--> statement-breakpoint
CREATE INDEX `schedule_runs_by_age` ON `schedule_runs` (`ran_at`);