ALTER TABLE `tenants` ADD `keep_texts_days` integer;--> statement-breakpoint
ALTER TABLE `tenants` ADD `texts_gone_until` integer;