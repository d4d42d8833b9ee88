// What outsiders can make grow of jobs that wait and run (`domain/words/growth.ts`).

import { MAX_INDEBTED } from "../../../domain/job/fair-order.ts";
import { MAX_FLOWS } from "../../../domain/job/flows.ts";
import type { GrowthRow } from "../../../domain/words/growth.ts";
import { MAX_GROUPS } from "../../placing/room.ts";
import { MAX_STORED_BYTES } from "../../turn/memory/storage-memory.ts";

const GROUPS_TEST = "test/tenant/jobs/requirement-groups.workers.test.ts";

export const GROWTH: readonly GrowthRow[] = [
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
