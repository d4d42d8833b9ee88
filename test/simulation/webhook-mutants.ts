// Defects in the fairness of webhook deliveries, in their bound, and in the news of a worker's silence.

import { type Mutant, mutant } from "./mutant.ts";

export const WEBHOOK_MUTANTS: readonly Mutant[] = [
  mutant(
    "endpoints that fail may take every place",
    "durable-objects/operations/deliveries.ts",
    "failingCount < MAX_FAILING_UNDER_WAY ?",
    "failingCount < MAX_UNDER_WAY ?",
  ),
  mutant(
    "more deliveries are tried at a time than may be",
    "durable-objects/operations/deliveries.ts",
    "deliveriesUnderWay.size >= MAX_UNDER_WAY",
    "deliveriesUnderWay.size >= 2 * MAX_UNDER_WAY",
  ),
  mutant(
    "after a turn that failed as many deliveries more are tried",
    "durable-objects/turn-runner.ts",
    "memory.deliveriesUnderWay.set(id, webhookId);",
    "void id, webhookId;",
  ),
  mutant(
    "a delivery that is being tried is sent again beside it",
    "durable-objects/operations/deliveries.ts",
    "memory.deliveriesUnderWay.has(id) ? nowAt + TRY_LEASE_MS : nowAt",
    "memory.deliveriesUnderWay.has(id) ? nowAt : nowAt",
  ),
  mutant(
    "finished deliveries have no bound by number",
    "durable-objects/operations/deliveries.ts",
    "oldest.writesSince >= DELIVERIES_KEPT.writes ?",
    "oldest.writesSince >= 1e9 ?",
  ),
  mutant(
    "the same silence of a worker is told again",
    "durable-objects/operations/silence.ts",
    "if (isAway === isKnown) continue;",
    "if (!isAway && !isKnown) continue;",
  ),
  mutant(
    "a worker's second silence is not told",
    "durable-objects/operations/silence.ts",
    "    silentWorkers.delete(instance);",
    "    void silentWorkers;",
  ),
];
