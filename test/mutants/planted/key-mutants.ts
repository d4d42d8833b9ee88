// Defects in the limits of a key, and in a clock that is set back.

import { type Mutant, mutant } from "./mutant.ts";

export const KEY_MUTANTS: readonly Mutant[] = [
  mutant(
    "the jobs that a key creates in a minute are not counted",
    "durable-objects/steps/key-limits.ts",
    "if (isNew) turn.store.keyUse.putWindow(name, counted);",
    "if (!isNew) turn.store.keyUse.putWindow(name, counted);",
  ),
  mutant(
    "a key may have one more open job",
    "durable-objects/steps/key-limits.ts",
    "open + demand.count <= limits.concurrent)",
    "open + demand.count <= limits.concurrent + 1)",
  ),
  mutant(
    "the open jobs of a key are stored once",
    "durable-objects/turn/key-counts.ts",
    "store.keyUse.putOpenCount(name, count);",
    "if (store.keyUse.openCount(name) === null) store.keyUse.putOpenCount(name, count);",
  ),
  mutant(
    "what a key spends is not charged to it",
    "durable-objects/steps/key-limits.ts",
    "turn.store.keyUse.addSpent(keyId, dayAt, nanoUsd);",
    "turn.store.keyUse.addSpent(keyId, dayAt, 0);",
  ),
  mutant(
    "a key makes one more request at a time",
    "domain/access/rate.ts",
    "underWay > inFlight)",
    "underWay > inFlight + 1)",
    ["test/domain/access/rate.test.ts"],
  ),
  mutant("half of a key's requests are free", "domain/access/rate.ts", "tokens: tokens - 1,", "tokens: tokens - 0.5,"),
  mutant(
    "a key's requests are refused until the clock is where it was",
    "domain/access/rate.ts",
    "bucket === undefined || bucket.at > nowAt",
    "bucket === undefined",
  ),
  mutant(
    "what was heard before the clock was set back counts as heard in the future",
    "durable-objects/calls/turn-runner.ts",
    "if (turn.nowAt < this.#turnedAt &&",
    "if (turn.nowAt < 0 &&",
  ),
  mutant(
    "workers of a revoked key go on being given jobs",
    "durable-objects/operations/access/keys.ts",
    "  lockOut(turn, key.id);\n",
    "",
  ),
  mutant(
    "an object that wakes has forgotten whose key was revoked",
    "durable-objects/turn/memory/memory.ts",
    "{ isLockedOut: true }",
    "{ isLockedOut: false }",
  ),
];
