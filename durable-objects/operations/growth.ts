// What outsiders can make grow in a tenant's object (`domain/words/growth.ts`).

import { MAX_OPEN_BATCHES } from "../../domain/batch/batch.ts";
import { LONGEST_WINDOW } from "../../domain/batch/feeding.ts";
import { MAX_FILES } from "../../domain/file/file.ts";
import { MAX_RESPONSES_BYTES } from "../../domain/front-door/stored-response.ts";
import { MAX_INDEBTED } from "../../domain/job/fair-order.ts";
import { MAX_FLOWS } from "../../domain/job/flows.ts";
import { DEFAULT_MAX_GB } from "../../domain/tenant/max-gb.ts";
import { BYTES_A_GB } from "../../domain/tenant/storage-use.ts";
import type { GrowthRow } from "../../domain/words/growth.ts";
import { MAX_GROUPS } from "../placing/room.ts";
import { MAX_USERS_A_KEY } from "../steps/key-limits.ts";
import { MAX_OPEN_TASKS, MAX_TASKS_A_WORKER } from "../steps/model-tasks.ts";
import { KEPT_ATTEMPTS } from "../store/access/people.ts";
import { MAX_STORED_BYTES } from "../turn/memory.ts";
import { MAX_KEY_CHARS, MAX_KEYS } from "./access/keys.ts";
import { MAX_PROVIDER_KEYS } from "./access/provider-keys.ts";
import { MAX_SESSIONS_A_KEY } from "./access/sessions.ts";
import { MAX_PEOPLE, MAX_SESSIONS_A_PERSON } from "./access/sign-in.ts";
import { MAX_SKIPPED_REASONS } from "./fleet/claims.ts";
import { MAX_OFFER_BYTES, MAX_OFFERS_BYTES, MAX_WORKERS } from "./fleet/presence.ts";
import { MAX_SCHEDULE_CHARS, MAX_SCHEDULES } from "./schedules.ts";
import { MAX_WEBHOOKS } from "./webhooks.ts";

const KEYS_TEST = "test/tenant/access/keys-bounds.workers.test.ts";
const SCHEDULES_TEST = "test/tenant/schedules/schedules-bounds.workers.test.ts";
const PRESENCE_TEST = "test/tenant/fleet/presence.workers.test.ts";
const BATCHES_TEST = "test/batches/batches.workers.test.ts";
const PEOPLE_TEST = "test/tenant/access/people-bounds.workers.test.ts";
const GROUPS_TEST = "test/tenant/jobs/requirement-groups.workers.test.ts";

const MODELS_TEST = "test/models/model-tasks.workers.test.ts";
const TENANTS_TEST = "test/http/tenants.workers.test.ts";

/** Tables whose rows only their bytes bound; what finishes or stops work is written above the bound, too. */
const OBJECT_TABLES = [
  "activity",
  ...["settings", "idempotency", "webhooks", "deliveries", "files", "catalog_models"],
  ...["backoffs", "spending", "silent_workers", "capacity_notices", "halted_jobs", "unreported", "schema_steps"],
  ...["key_windows", "key_spending", "key_open_jobs", "responses", "response_sums", "response_items", "file_sums"],
  "idle_workers",
];
/** Memory with at most an entry for each row of such a table. */
const OF_ROWS = [
  ...["memory.backoffs", "memory.catalog", "memory.edgeAskAt", "memory.openByKey", "memory.spending"],
  ...[
    "memory.deliveriesUnderWay",
    "memory.pendingDeliveries",
    "memory.slowWebhooks",
    "durable-objects/effects/effect-sender.ts#deliveriesUnderWay",
  ],
  ...["durable-objects/calls/key-rates.ts#buckets", "durable-objects/calls/turn-runner.ts#sweepFailures"],
];
/** Memory with at most an entry for each worker. */
const OF_WORKERS = [
  ...["memory.unstoredWorkers", "memory.haltConfirmed", "memory.openingSockets", "memory.socketGoneAt"],
  ...["memory.silentWorkers", "memory.idleWorkers", "memory.batchWork.ofWorker", "memory.batchWork.otherAt"],
  "memory.batchWork.backoffs",
  "durable-objects/waits/claim-waits.ts#counts",
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
    provenBy: [TENANTS_TEST, "over it nothing more is stored"],
  },
  {
    what: "files, those on their way included",
    holds: ["table files"],
    grownBy: "key",
    countedBy: "durable-objects/operations/files/files.ts",
    bound: MAX_FILES,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "files_full" },
    freedBy: "DELETE, or a file's end; one that never arrived ends by itself",
    provenBy: ["test/domain/file/file.test.ts", "a bound together, in bytes and in number"],
  },
  {
    what: "batches that have not ended",
    holds: [
      ...["memory.batches", "memory.batchWork.ofBatch", "table batches"],
      "durable-objects/effects/batch-carrier.ts#running",
    ],
    grownBy: "key",
    countedBy: "durable-objects/operations/files/batches.ts",
    bound: MAX_OPEN_BATCHES,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "too_many_batches" },
    freedBy: "they end, at the latest with their window",
    provenBy: [BATCHES_TEST, "takes 100 batches at a time and no more"],
  },
  {
    what: "open lines of a model in a batch, and their answers on the way to its file",
    holds: ["table line_ends"],
    grownBy: "key",
    countedBy: "domain/batch/feeding.ts",
    bound: LONGEST_WINDOW,
    unit: "entries",
    of: "batch",
    atTheBound: { drops: "nothing: the other lines stay in the file" },
    freedBy: "the lines end, and the object of the file has their answers",
    provenBy: [BATCHES_TEST, "holds a window of its lines open, and the rest stays in the file"],
  },
  {
    what: "texts of stored responses, without those over 1 MiB, which are files",
    holds: ["table responses", "table response_sums", "table response_items"],
    grownBy: "key",
    countedBy: "durable-objects/operations/front-door/responses.ts",
    bound: MAX_RESPONSES_BYTES,
    unit: "characters",
    of: "tenant",
    atTheBound: { drops: "the oldest stored responses: they are 404, as after their days" },
    freedBy: "DELETE, or front_door.responses_days",
    provenBy: ["test/front-door/stored-responses.workers.test.ts", "the oldest make room"],
  },
  {
    what: "sessions of the dashboard",
    holds: ["table sessions"],
    grownBy: "key",
    countedBy: "durable-objects/operations/access/sessions.ts",
    bound: MAX_SESSIONS_A_KEY,
    unit: "entries",
    of: "key",
    atTheBound: { drops: "the oldest session of the key: who had it signs in again" },
    freedBy: "signing out, a session's end, the end of its key",
    provenBy: ["test/tenant/access/session.workers.test.ts", "ends the oldest of a hundred"],
  },
  {
    what: "people who have signed in, each with one grant of a key at a time",
    holds: ["table people", "table key_grants"],
    grownBy: "person",
    countedBy: "durable-objects/operations/access/sign-in.ts",
    bound: MAX_PEOPLE,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "forbidden" },
    freedBy: "nothing: a person stays, so that the audit has a name",
    provenBy: [PEOPLE_TEST, "has 5 000 people and no more"],
  },
  {
    what: "people's sessions",
    holds: ["table person_sessions"],
    grownBy: "person",
    countedBy: "durable-objects/operations/access/sign-in.ts",
    bound: MAX_SESSIONS_A_PERSON,
    unit: "entries",
    of: "person",
    atTheBound: { drops: "the session that ends first: who had it signs in again" },
    freedBy: "signing out, a session's end, blocking the person",
    provenBy: [PEOPLE_TEST, "has 20 sessions; one more ends another"],
  },
  {
    what: "attempts to sign in",
    holds: ["table sign_in_attempts"],
    grownBy: "person",
    countedBy: "durable-objects/store/access/people.ts",
    bound: KEPT_ATTEMPTS,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "the oldest attempt" },
    freedBy: "newer attempts",
    provenBy: [PEOPLE_TEST, "keeps the last 50 attempts"],
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
    what: "keys, the revoked ones included",
    holds: ["table keys"],
    grownBy: "key",
    countedBy: "durable-objects/operations/access/keys.ts",
    bound: MAX_KEYS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "too_many_keys" },
    freedBy: "revoking: the keys that were revoked first make room",
    provenBy: [KEYS_TEST, "has 10,000 keys and no more"],
  },
  {
    what: "keys with their names and limits",
    holds: ["table keys"],
    grownBy: "key",
    countedBy: "durable-objects/operations/access/keys.ts",
    bound: MAX_KEY_CHARS,
    unit: "characters",
    of: "tenant",
    atTheBound: { refuses: "too_many_keys" },
    freedBy: "revoking, or shorter limits",
    provenBy: [KEYS_TEST, "8 MiB of names and limits"],
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
  {
    what: "workers",
    holds: ["memory.fleet", "table workers", ...OF_WORKERS],
    grownBy: "worker",
    countedBy: "durable-objects/operations/fleet/presence.ts",
    bound: MAX_WORKERS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "too_many_workers" },
    freedBy: "an offline worker is forgotten after presence.forget_after_seconds, or by DELETE",
    provenBy: [PRESENCE_TEST, "registers 20 000 workers in a tenant and no more"],
  },
  {
    what: "one worker's tags and processors, and the models that it names, lists, has loaded and has on disk",
    holds: ["table worker_models", "table worker_machines"],
    grownBy: "worker",
    countedBy: "durable-objects/operations/fleet/presence.ts",
    bound: MAX_OFFER_BYTES,
    unit: "bytes",
    of: "worker",
    atTheBound: { refuses: "invalid_request" },
    freedBy: "its next report, or forgetting it",
    provenBy: [PRESENCE_TEST, "names the field that is too long"],
  },
  {
    what: "all workers' tags and processors, and the models that they name, list, have loaded and have on disk",
    holds: ["memory.fleet", "table worker_models", "table worker_machines"],
    grownBy: "worker",
    countedBy: "durable-objects/operations/fleet/presence.ts",
    bound: MAX_OFFERS_BYTES,
    unit: "bytes",
    of: "tenant",
    atTheBound: { refuses: "too_many_offers" },
    freedBy: "a report that names fewer, or forgetting workers",
    provenBy: [PRESENCE_TEST, "takes 64 MiB of models, runtime models and tags"],
  },
  {
    what: "model tasks that are not over",
    holds: [
      ...["memory.modelTasks", "table model_tasks"],
      ...["byId", "idsOf", "handed"].map((name) => `durable-objects/turn/live-tasks.ts#${name}`),
    ],
    grownBy: "key",
    countedBy: "durable-objects/operations/fleet/model-tasks.ts",
    bound: MAX_OPEN_TASKS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "too_many_model_tasks" },
    freedBy: "their workers finish them, or they are cancelled",
    provenBy: [MODELS_TEST, "a worker has 100 tasks that are not over and no more"],
  },
  {
    what: "model tasks of one worker, those that are over included",
    holds: ["table model_tasks"],
    grownBy: "key",
    countedBy: "durable-objects/operations/fleet/model-tasks.ts",
    bound: MAX_TASKS_A_WORKER,
    unit: "entries",
    of: "worker",
    atTheBound: { drops: "the oldest that is over" },
    freedBy: "newer tasks, or forgetting the worker",
    provenBy: [MODELS_TEST, "of the tasks that are over, the newest stay"],
  },
  {
    what: "provider keys",
    holds: ["table provider_keys"],
    grownBy: "key",
    countedBy: "durable-objects/operations/access/provider-keys.ts",
    bound: MAX_PROVIDER_KEYS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "invalid_request" },
    freedBy: "DELETE of one",
    provenBy: ["test/runner/edge-workers.test.ts", "has a bound on its provider keys"],
  },
  {
    what: "requirement groups",
    holds: ["memory.queue"],
    grownBy: "key",
    countedBy: "durable-objects/placing/room.ts",
    bound: MAX_GROUPS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "too_many_groups" },
    freedBy: "the last waiting job of a group leaves it",
    provenBy: [GROUPS_TEST, "takes 10,000 groups of requirements and no more"],
  },
  {
    what: "flows that wait",
    holds: ["memory.flows"],
    grownBy: "key",
    countedBy: "durable-objects/steps/flow.ts",
    bound: MAX_FLOWS,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "the names of further flows: their jobs take the turns of the common flow" },
    freedBy: "the last waiting job of a flow leaves it",
    provenBy: [
      "test/tenant/jobs/fair-turns.workers.test.ts",
      "20,000 flows take turns, and the jobs of further ones share",
    ],
  },
  {
    what: "flows that are idle and were served more than others",
    holds: ["memory.flows"],
    grownBy: "key",
    countedBy: "domain/job/fair-order.ts",
    bound: MAX_INDEBTED,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "what the flow was served: it begins beside the others" },
    freedBy: "the others are served as much, or nothing of the group waits or runs",
    provenBy: ["test/domain/job/fair-order.test.ts", "forgives debts beyond its room for them"],
  },
  {
    what: "people of a key with limits who have a count this minute",
    holds: ["table key_windows", "table key_open_jobs", "memory.openByKey"],
    grownBy: "request",
    countedBy: "durable-objects/steps/key-limits.ts",
    bound: MAX_USERS_A_KEY,
    unit: "entries",
    of: "key",
    atTheBound: { refuses: "rate_limit_exceeded" },
    freedBy: "the minute of a person is over; the last open job of a person ends",
    provenBy: ["test/tenant/access/key-limits.workers.test.ts", "has a count for 10,000 people a minute and no more"],
  },
  {
    what: "reasons of an idle claim",
    holds: ["the answer"],
    grownBy: "key",
    countedBy: "durable-objects/operations/fleet/claims.ts",
    bound: MAX_SKIPPED_REASONS,
    unit: "entries",
    of: "message",
    atTheBound: { drops: "the rarest reasons; the document says so" },
    freedBy: "the answer is sent",
    provenBy: [GROUPS_TEST, "takes 10,000 groups of requirements and no more"],
  },
  {
    what: "open jobs and their texts, the journal and the outbox",
    holds: ["memory.beats", "table jobs", "table payloads", "table results", "table outbox"],
    grownBy: "key",
    countedBy: "durable-objects/placing/room.ts",
    bound: MAX_STORED_BYTES,
    unit: "bytes",
    of: "tenant",
    atTheBound: { refuses: "history_backlog" },
    freedBy: "jobs end, and history has them",
    provenBy: ["test/mutants/planted/limit-mutants.ts", "a full storage takes new jobs"],
  },
];
