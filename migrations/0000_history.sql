CREATE TABLE `attempts` (
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
	PRIMARY KEY(`tenant`, `job_id`, `lease`)
);
--> statement-breakpoint
CREATE TABLE `audit` (
	`tenant` text NOT NULL,
	`id` text NOT NULL,
	`at` integer NOT NULL,
	`actor_key_id` text,
	`actor_name` text NOT NULL,
	`action` text NOT NULL,
	`target` text NOT NULL,
	`detail` text NOT NULL,
	PRIMARY KEY(`tenant`, `id`)
);
--> statement-breakpoint
CREATE INDEX `audit_newest` ON `audit` (`tenant`,`at`,`id`);--> statement-breakpoint
CREATE TABLE `cost_hours` (
	`tenant` text NOT NULL,
	`hour_at` integer NOT NULL,
	`provider` text NOT NULL,
	`model` text NOT NULL,
	`jobs` integer NOT NULL,
	`unpriced_jobs` integer NOT NULL,
	`nano_usd` integer NOT NULL,
	`input_tokens` integer NOT NULL,
	`output_tokens` integer NOT NULL,
	`cached_input_tokens` integer NOT NULL,
	`reasoning_tokens` integer NOT NULL,
	PRIMARY KEY(`tenant`, `hour_at`, `provider`, `model`)
);
--> statement-breakpoint
CREATE TABLE `events` (
	`tenant` text NOT NULL,
	`job_id` text NOT NULL,
	`version` integer NOT NULL,
	`at` integer NOT NULL,
	`type` text NOT NULL,
	`worker` text,
	`lease` integer NOT NULL,
	`detail` text NOT NULL,
	PRIMARY KEY(`tenant`, `job_id`, `version`)
);
--> statement-breakpoint
CREATE TABLE `jobs` (
	`tenant` text NOT NULL,
	`id` text NOT NULL,
	`version` integer NOT NULL,
	`status` text NOT NULL,
	`provider` text,
	`worker` text,
	`schedule` text,
	`tags` text NOT NULL,
	`created_at` integer NOT NULL,
	`finished_at` integer,
	`record` text NOT NULL,
	PRIMARY KEY(`tenant`, `id`)
);
--> statement-breakpoint
CREATE INDEX `jobs_newest` ON `jobs` (`tenant`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_by_status` ON `jobs` (`tenant`,`status`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_by_provider` ON `jobs` (`tenant`,`provider`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_by_schedule` ON `jobs` (`tenant`,`schedule`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `jobs_by_worker` ON `jobs` (`tenant`,`worker`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `payloads` (
	`tenant` text NOT NULL,
	`job_id` text NOT NULL,
	`prompt` text NOT NULL,
	`input` text NOT NULL,
	PRIMARY KEY(`tenant`, `job_id`)
);
--> statement-breakpoint
CREATE TABLE `results` (
	`tenant` text NOT NULL,
	`job_id` text NOT NULL,
	`result` text NOT NULL,
	PRIMARY KEY(`tenant`, `job_id`)
);
--> statement-breakpoint
CREATE TABLE `schedule_runs` (
	`tenant` text NOT NULL,
	`schedule` text NOT NULL,
	`id` text NOT NULL,
	`scheduled_for` integer NOT NULL,
	`ran_at` integer NOT NULL,
	`outcome` text NOT NULL,
	`reason` text,
	`job_id` text,
	`missed` integer NOT NULL,
	PRIMARY KEY(`tenant`, `schedule`, `id`)
);
--> statement-breakpoint
CREATE INDEX `schedule_runs_newest` ON `schedule_runs` (`tenant`,`schedule`,`ran_at`,`id`);--> statement-breakpoint
CREATE TABLE `tenants` (
	`tenant` text PRIMARY KEY NOT NULL,
	`created_at` integer NOT NULL,
	`location_hint` text,
	`jurisdiction` text,
	`wake_at` integer
);
--> statement-breakpoint
CREATE TABLE `catalog_history` (
	`tenant` text NOT NULL,
	`subscription_id` text NOT NULL,
	`seq` integer NOT NULL,
	`at` integer NOT NULL,
	`kind` text NOT NULL,
	`model_id` text NOT NULL,
	`before` text,
	`after` text,
	PRIMARY KEY(`tenant`, `subscription_id`, `seq`)
);
--> statement-breakpoint
CREATE INDEX `catalog_history_at` ON `catalog_history` (`at`);--> statement-breakpoint
CREATE TABLE `catalog_models` (
	`tenant` text NOT NULL,
	`subscription_id` text NOT NULL,
	`model_id` text NOT NULL,
	`name` text NOT NULL,
	`context_window` integer,
	`input_nano_per_mtok` integer,
	`output_nano_per_mtok` integer,
	`cached_input_nano_per_mtok` integer,
	`request_nano` integer,
	PRIMARY KEY(`tenant`, `subscription_id`, `model_id`)
);
--> statement-breakpoint
CREATE TABLE `catalog_subscriptions` (
	`tenant` text NOT NULL,
	`id` text NOT NULL,
	`provider` text NOT NULL,
	`models_sync_schedule` text NOT NULL,
	`models_sync_url` text DEFAULT '' NOT NULL,
	`model_count` integer DEFAULT 0 NOT NULL,
	`models_synced_at` integer,
	`next_sync_at` integer NOT NULL,
	`last_error` text,
	`last_error_at` integer,
	`failure_count` integer DEFAULT 0 NOT NULL,
	`history_count` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`version` integer DEFAULT 1 NOT NULL,
	`lease_id` text,
	`lease_until` integer,
	PRIMARY KEY(`tenant`, `id`)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `catalog_subscriptions_once` ON `catalog_subscriptions` (`tenant`,`provider`,`models_sync_url`);--> statement-breakpoint
CREATE INDEX `catalog_subscriptions_due` ON `catalog_subscriptions` (`next_sync_at`);