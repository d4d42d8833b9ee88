// What a row of the outbox says, as this release and earlier ones wrote it.

import { expect, test } from "vitest";
import type { Json } from "../../domain/words/json.ts";
import { outboxTable, readEntries, storedEventOf, type VersionedEvent } from "../../durable-objects/store/outbox.ts";

const DECISION = {
  provider: "vllm",
  score: 0.93,
  breakdown: { capacity: 1, success: 1, freshness: 1, tag_fit: 0, model_loaded: 1, cost: 0.5, tier: 0 },
  strategy: "best",
  chain_position: null,
  refused: { paused: 2 },
  runner_up: null,
};
const event = (version: number, detail: Json): VersionedEvent => ({
  ...{ jobId: "job-1", version, at: 1_000 + version, type: "job.assigned", worker: 'the "best"', lease: 1, detail },
});
const events = [event(1, null), event(2, DECISION), event(3, { request_id: 'a"b' })];
const others = { attempts: [], audit: [], runs: [] };

const written = (): string => {
  const bodies: unknown[] = [];
  const sql = { exec: (_query: string, ...values: unknown[]) => bodies.push(values[3]) };
  const nothing = { takeRow: () => null, oldest: null, drainedSeq: () => 0, putDrainedSeq: () => {} };
  const entries = { ...others, events: events.map(storedEventOf) };
  outboxTable(sql as never, nothing, nothing).put({ seq: 1, at: 0, chars: 1, entries });
  return bodies[0] as string;
};

test("a row is read as it was written", () => {
  expect(readEntries(written())).toEqual({ ...others, events: events.map(storedEventOf) });
});

test("a row of an earlier release, with whole events, says the same", () => {
  expect(readEntries(JSON.stringify({ events, ...others }))).toEqual(readEntries(written()));
});
