// What a change of a key lets go on: the lines of its own batches, and nothing else that waits.

import { expect, test } from "vitest";
import type { KeyRecord } from "../../../domain/access/key.ts";
import type { BatchRecord } from "../../../domain/batch/batch.ts";
import { groupKeyOf } from "../../../domain/job/queue.ts";
import { patchKey } from "../../../durable-objects/operations/access/keys.ts";
import { bareTurns } from "../../support/workerd/bare-turns.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");
const LIMITED: KeyRecord = {
  id: "limited",
  name: "limited",
  role: "client",
  hash: "h",
  createdAt: NOW,
  lastUsedAt: null,
  revokedAt: null,
  previousHash: null,
  previousUntilAt: null,
  limits: null,
  weight: 1,
  personId: null,
};

const waiting = (model: string, batch: string | null): string =>
  groupKeyOf({ provider: null, model, tags: [], excludedProviders: [], avoidedWorkers: [], api: null, batch });

test("new limits of a key look at what waits of its batches alone, another name at nothing", async () => {
  const own = waiting("m", "own");
  const seen = await bareTurns("key change", NOW, ({ store, memory, turnAt, reload }) => {
    store.keys.put(LIMITED);
    reload(NOW);
    for (const [id, keyId] of [
      ["own", "limited"],
      ["foreign", "other"],
    ] as const)
      memory().batches.open.set(id, { id, keyId } as BatchRecord);
    for (const key of [own, waiting("m", "foreign"), waiting("m", null), waiting("n", null)])
      memory().queue.load(key, 1);
    const opened = (change: { name: string | null; limits: null | undefined }) => {
      const turn = turnAt(NOW);
      expect(patchKey(turn, { id: "limited", ...change }).ok).toBe(true);
      return { all: turn.isAllOpened, groups: [...turn.openedGroups], batches: [...turn.effects.batches] };
    };
    return [opened({ name: null, limits: null }), opened({ name: "renamed", limits: undefined })];
  });
  expect(seen).toEqual([
    { all: false, groups: [own], batches: ["own"] },
    { all: false, groups: [], batches: [] },
  ]);
});
