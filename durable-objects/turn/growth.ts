// What outsiders can make grow in the memory of a tenant's turns (`domain/words/growth.ts`).

import { MAX_VALUES } from "../../domain/insight/latency.ts";
import type { GrowthRow } from "../../domain/words/growth.ts";
import { MAX_CONVERSATIONS } from "./memory/affinity.ts";
import { MAX_TALLIES } from "./memory/counters.ts";
import { MAX_LATE_COSTS } from "./memory/late-costs.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "conversations whose last worker is known",
    holds: ["memory.affinity"],
    grownBy: "key",
    countedBy: "durable-objects/turn/memory/affinity.ts",
    bound: MAX_CONVERSATIONS,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "the one that was used longest ago: its next turn finds a cold cache" },
    freedBy: "ten minutes without a turn",
    provenBy: ["test/tenant/memory-bounds.test.ts", "keeps ten thousand"],
  },
  {
    what: "costs of jobs that have left, told since",
    holds: ["memory.outbox.lateCosts", "durable-objects/turn/memory/late-costs.ts#told"],
    grownBy: "worker",
    countedBy: "durable-objects/turn/memory/late-costs.ts",
    bound: MAX_LATE_COSTS,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "the one that was told first: history has had it for long, or has it with the next load" },
    freedBy: "nothing but that",
    provenBy: ["test/tenant/memory-bounds.test.ts", "are a thousand"],
  },
  {
    what: "pairs of provider and model with counts of their own",
    holds: ["memory.counters", "durable-objects/turn/memory/counters.ts#byName"],
    grownBy: "key",
    countedBy: "durable-objects/turn/memory/counters.ts",
    bound: MAX_TALLIES,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "nothing: further pairs count as other" },
    freedBy: "nothing: they are sums",
    provenBy: ["test/tenant/insight/counters.test.ts", "have labels of their own for 200 pairs"],
  },
  {
    what: "models, providers, workers and tags with latencies of their own in a slot",
    holds: ["table latency", "durable-objects/turn/memory/filling-slots.ts#filling"],
    grownBy: "key",
    countedBy: "domain/insight/latency.ts",
    bound: MAX_VALUES,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "nothing: further values count as other" },
    freedBy: "the slot's end in the history of latencies",
    provenBy: ["test/domain/insight/latency.test.ts", "a slot names a bounded number of values"],
  },
];
