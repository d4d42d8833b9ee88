// What outsiders can make grow of workers and what they say (`domain/words/growth.ts`).

import { MAX_OFFERS_BYTES, MAX_WORKERS } from "../../../domain/fleet/crowd.ts";
import type { GrowthRow } from "../../../domain/words/growth.ts";
import { MAX_OPEN_TASKS, MAX_TASKS_A_WORKER } from "../../steps/model-tasks.ts";
import { MAX_SKIPPED_REASONS } from "./claims.ts";
import { MAX_OFFER_BYTES } from "./presence.ts";

const PRESENCE_TEST = "test/tenant/fleet/presence.workers.test.ts";
const GROUPS_TEST = "test/tenant/jobs/requirement-groups.workers.test.ts";
const MODELS_TEST = "test/models/model-tasks.workers.test.ts";

/** Memory with at most an entry for each worker. */
const OF_WORKERS = [
  ...["memory.unstoredWorkers", "memory.haltConfirmed", "memory.sockets.opening", "memory.sockets.goneAt"],
  ...["memory.notices.silent", "memory.notices.idle", "memory.batches.ofWorker", "memory.batches.otherAt"],
  "memory.batches.backoffs",
  "durable-objects/waits/claim-waits.ts#counts",
];

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "workers",
    holds: ["memory.fleet", "table workers", ...OF_WORKERS],
    grownBy: "worker",
    countedBy: "durable-objects/operations/fleet/presence.ts",
    bound: MAX_WORKERS,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "too_many_workers" },
    freedBy: "an offline worker is forgotten after presence.forget_after_seconds, from 90 % on at once, or by DELETE",
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
    freedBy: "a report that names fewer, or forgetting workers, from 90 % on as soon as they are offline",
    provenBy: [PRESENCE_TEST, "takes 64 MiB of models, runtime models and tags"],
  },
  {
    what: "model tasks that are not over",
    holds: [
      ...["memory.modelTasks", "table model_tasks"],
      ...["byId", "idsOf", "handed"].map((name) => `durable-objects/turn/memory/live-tasks.ts#${name}`),
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
];
