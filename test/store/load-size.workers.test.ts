// How much of the outbox goes to history at a time: making it ready keeps the thread that all tenants share.

import { expect, test } from "vitest";
import { createJob } from "../../domain/job/new-job.ts";
import { DRAIN_ROOM } from "../../durable-objects/history/drain.ts";
import { projectionOf } from "../../durable-objects/history/projection.ts";
import { OutboxWriter } from "../../durable-objects/turn/outbox-writer.ts";
import { asked } from "../support/new-job.ts";
import { bareTurns } from "../support/workerd/bare-turns.ts";

const JOBS = 300;
const longText = (index: number): string => `${index}`.padStart(64, "x");

/** How many characters the first load carries, if these jobs were created a moment ago. */
const firstLoad = (name: string, labels: { tags: readonly string[]; metadata: Readonly<Record<string, string>> }) =>
  bareTurns(name, 0, ({ store, memory, turnAt }) => {
    const outbox = new OutboxWriter(memory());
    const turn = turnAt(0, outbox);
    for (let job = 0; job < JOBS; job += 1) turn.record(null, createJob({ ...asked, ...labels }, `job-${job}`, 0));
    for (const row of outbox.rows) store.outbox.put(row);
    const { inserts } = projectionOf(store, store.outbox.oldest(DRAIN_ROOM), [], { get: () => undefined });
    return inserts.flatMap(({ values }) => values).reduce<number>((sum, value) => sum + String(value).length, 0);
  });

test("jobs with many long tags go in loads no larger than others", async () => {
  const tags = Array.from({ length: 32 }, (_, index) => longText(index));
  const chars = await firstLoad("many-tags", { tags, metadata: {} });
  expect(chars).toBeGreaterThan(DRAIN_ROOM.chars / 2);
  expect(chars).toBeLessThan(DRAIN_ROOM.chars * 1.5);
});

test("jobs with much metadata do, too", async () => {
  const pairs = Array.from({ length: 16 }, (_, index) => [longText(index), longText(index).repeat(4)] as const);
  const chars = await firstLoad("much-metadata", { tags: [], metadata: Object.fromEntries(pairs) });
  expect(chars).toBeGreaterThan(DRAIN_ROOM.chars / 2);
  expect(chars).toBeLessThan(DRAIN_ROOM.chars * 1.5);
});
