// Defects in the fairness of webhook deliveries, in their bound, and in the news of a worker's silence.

import { type Mutant, mutant } from "./mutant.ts";

const FAIR = ["test/webhooks/fair-deliveries.workers.test.ts"];
const KEPT = ["test/webhooks/kept-deliveries.workers.test.ts"];

export const WEBHOOK_MUTANTS: readonly Mutant[] = [
  mutant(
    "endpoints that fail may take every place",
    "durable-objects/steps/deliveries.ts",
    "countOfOthers(healthy) >= MAX_FAILING_UNDER_WAY",
    "countOfOthers(healthy) >= MAX_UNDER_WAY",
  ),
  mutant(
    "an endpoint that never answers takes the place of one that failed once",
    "durable-objects/steps/deliveries.ts",
    "countOfOthers(answering) > 0 &&",
    "false &&",
    FAIR,
  ),
  mutant(
    "endpoints that answer slowly may take every place",
    "durable-objects/steps/deliveries.ts",
    "countOfOthers(quick) >= MAX_SLOW_UNDER_WAY",
    "countOfOthers(quick) >= MAX_UNDER_WAY",
    FAIR,
  ),
  mutant(
    "an endpoint that stops answering may take every place",
    "durable-objects/steps/deliveries.ts",
    "length < MAX_OF_ONE",
    "length < MAX_UNDER_WAY",
    FAIR,
  ),
  mutant(
    "more deliveries are tried at a time than may be",
    "durable-objects/steps/deliveries.ts",
    "underWay.size >= MAX_UNDER_WAY",
    "underWay.size >= 2 * MAX_UNDER_WAY",
  ),
  mutant(
    "after a turn that failed as many deliveries more are tried",
    "durable-objects/calls/turn-runner.ts",
    "memory.deliveries.underWay.set(id, webhookId);",
    "void id, webhookId;",
  ),
  mutant(
    "a delivery that is being tried is sent again beside it",
    "durable-objects/steps/deliveries.ts",
    "memory.deliveries.underWay.has(id) ? nowAt + TRY_LEASE_MS : nowAt",
    "memory.deliveries.underWay.has(id) ? nowAt : nowAt",
  ),
  mutant(
    "a delivery whose try died with its object waits",
    "durable-objects/steps/deliveries.ts",
    "  turn.store.deliveries.giveBack([...turn.memory.deliveries.underWay.keys()], turn.nowAt);\n",
    "",
    KEPT,
  ),
  mutant(
    "an object does not wake for a delivery whose try died",
    "durable-objects/steps/deliveries.ts",
    "  if (turn.store.deliveries.hasTaken([...deliveries.underWay.keys()])) return turn.nowAt;\n",
    "",
    KEPT,
  ),
  mutant(
    "what waited for a webhook that was disabled counts on",
    "durable-objects/steps/deliveries.ts",
    "(pending.get(webhook.id) ?? 0) - count",
    "pending.get(webhook.id) ?? 0",
    KEPT,
  ),
  mutant(
    "a delivery that is being tried is dropped for a newer one",
    "durable-objects/steps/deliveries.ts",
    "oldestPending(webhookId, [...underWay.keys()]);",
    "oldestPending(webhookId, []);",
    KEPT,
  ),
  mutant(
    "the outcome of a delivery that was dropped counts",
    "durable-objects/steps/deliveries.ts",
    'delivery === null || delivery.status !== "pending" ||',
    "delivery === null ||",
    KEPT,
  ),
  mutant(
    "finished deliveries have no bound by number",
    "durable-objects/steps/deliveries.ts",
    "oldest.writesSince >= DELIVERIES_KEPT.writes ?",
    "oldest.writesSince >= 1e9 ?",
  ),
  mutant(
    "the same silence of a worker is told again",
    "durable-objects/steps/silence.ts",
    "if (isAway === isKnown) continue;",
    "if (!isAway && !isKnown) continue;",
  ),
  mutant(
    "a worker's second silence is not told",
    "durable-objects/steps/silence.ts",
    "    silent.delete(instance);",
    "    void silent;",
  ),
];
