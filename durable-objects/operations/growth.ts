// What outsiders can make grow of a tenant as a whole, of its schedules and webhooks (`domain/words/growth.ts`).

import { DEFAULT_MAX_GB } from "../../domain/tenant/max-gb.ts";
import { BYTES_A_GB } from "../../domain/tenant/storage-use.ts";
import type { GrowthRow } from "../../domain/words/growth.ts";
import { MAX_SCHEDULE_CHARS, MAX_SCHEDULES } from "./schedules.ts";
import { MAX_WEBHOOKS } from "./webhooks.ts";

const SCHEDULES_TEST = "test/tenant/schedules/schedules-bounds.workers.test.ts";

/** Tables whose rows only their bytes bound; what finishes or stops work is written above the bound, too. */
const OBJECT_TABLES = [
  ...["settings", "schema_steps", "idempotency", "activity", "webhooks", "deliveries", "capacity_notices"],
  ...[
    "silent_workers",
    "idle_workers",
    "halted_jobs",
    "unreported",
    "backoffs",
    "catalog_models",
    "files",
    "file_sums",
  ],
  ...["responses", "response_sums", "response_items", "spending", "key_windows", "key_spending", "key_open_jobs"],
];
/** Memory with at most an entry for each row of such a table. */
const OF_ROWS = [
  ...["memory.backoffs", "memory.catalog", "memory.edge.askAt", "memory.openByKey", "memory.spending"],
  ...["memory.deliveries.underWay", "memory.deliveries.pending", "memory.deliveries.slow"],
  "durable-objects/effects/effect-sender.ts#deliveriesUnderWay",
  ...["durable-objects/calls/key-rates.ts#buckets", "durable-objects/calls/turn-runner.ts#sweepFailures"],
];
const HISTORY_TABLES = [
  ...["jobs", "job_terms", "payloads", "results", "events", "attempts", "audit", "schedule_runs", "archive_parts"],
  ...["cost_hours", "cost_by_hours", "catalog_history", "catalog_models", "catalog_subscriptions", "tenants"],
];

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "all that a tenant stores: its object, its files, its large bodies, its history",
    holds: [
      ...OBJECT_TABLES.map((name) => `table ${name}`),
      ...HISTORY_TABLES.map((name) => `history table ${name}`),
      "folder objects/signalbox-StoredFile",
      "folder objects/signalbox-Relay",
      ...OF_ROWS,
    ],
    grownBy: "key",
    countedBy: "durable-objects/placing/room.ts",
    bound: DEFAULT_MAX_GB * BYTES_A_GB,
    unit: "bytes",
    of: "tenant",
    atTheBound: { refuses: "tenant_full" },
    freedBy: "retention, the end of files, deleting keys, schedules and webhooks",
    provenBy: ["test/http/tenants.workers.test.ts", "over it nothing more is stored"],
  },
  {
    what: "webhooks",
    holds: ["memory.webhooks", "table webhooks"],
    grownBy: "key",
    countedBy: "durable-objects/operations/webhooks.ts",
    bound: MAX_WEBHOOKS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "invalid_request" },
    freedBy: "DELETE",
    provenBy: ["test/webhooks/kept-deliveries.workers.test.ts", "has 50 webhooks and no more"],
  },
  {
    what: "schedules",
    holds: ["table schedules", "durable-objects/store/schedules.ts#shown"],
    grownBy: "key",
    countedBy: "durable-objects/operations/schedules.ts",
    bound: MAX_SCHEDULES,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "too_many_schedules" },
    freedBy: "DELETE",
    provenBy: [SCHEDULES_TEST, "has 5,000 schedules and no more"],
  },
  {
    what: "schedules with their prompts and inputs",
    holds: ["table schedules"],
    grownBy: "key",
    countedBy: "durable-objects/operations/schedules.ts",
    bound: MAX_SCHEDULE_CHARS,
    unit: "characters",
    of: "tenant",
    atTheBound: { refuses: "too_many_schedules" },
    freedBy: "DELETE, or shorter prompts",
    provenBy: [SCHEDULES_TEST, "16 MiB of prompts and inputs"],
  },
];
