CREATE TABLE `archive_parts` (
	`tenant` text NOT NULL,
	`day` text NOT NULL,
	`name` text NOT NULL,
	`min_id` text NOT NULL,
	`max_id` text NOT NULL,
	`jobs` integer NOT NULL,
	`bytes` integer NOT NULL,
	`sha256` text NOT NULL,
	PRIMARY KEY(`tenant`, `day`, `name`)
);
