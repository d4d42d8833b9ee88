// A batch's own rules: its window, how many lines are open, what is counted of them, and when it is looked at next.

import { describe, expect, test } from "vitest";
import {
  type BatchRecord,
  beginBatch,
  beginCancel,
  CANCEL_GRACE_MS,
  closeBatch,
  createBatch,
  failBatch,
  finishLines,
  isSpent,
  linesPerMinute,
  nextInstantOf,
  noteCorrected,
  noteFed,
  noteLineEnd,
  noteSpent,
  openLines,
  unfedLines,
  windowOf,
  yieldsUntilAt,
} from "../../../domain/batch/batch.ts";
import { linesToFeed } from "../../../domain/batch/feeding.ts";
import { MINUTE_MS, NOON } from "../job/sample-jobs.ts";

const HOUR_MS = 60 * MINUTE_MS;
const asked = {
  id: "batch_1",
  form: "openai",
  keyId: "k",
  fileId: "file-1",
  origin: "https://signalbox.example",
  api: "embeddings",
  completionWindow: "24h",
  metadata: null,
  outputLifeMs: HOUR_MS,
} as const;
const created = createBatch(asked, 24 * HOUR_MS, NOON);
const begun = beginBatch(
  created,
  [
    { name: "a", total: 10 },
    { name: "b", total: 5 },
  ],
  NOON,
);
const END = {
  model: "a",
  outcome: "completed",
  worker: "w1",
  errorCode: null,
  usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 1, reasoningTokens: 1 },
} as const;
const FAILED = { ...END, outcome: "failed", errorCode: "bad_request", usage: null } as const;

test.each([
  ["1h", HOUR_MS],
  ["24h", 24 * HOUR_MS],
  ["168h", 168 * HOUR_MS],
  ["7d", 168 * HOUR_MS],
  ["169h", null],
  ["8d", null],
  ["0h", null],
  ["01h", null],
  ["1.5h", null],
  ["60m", null],
  ["24", null],
  ["", null],
])("a window may be an hour to seven days: %s is %s", (text, ms) => {
  expect(windowOf(text)).toBe(ms);
});

test("lines come after all other work until the last sixth of the window", () => {
  expect(yieldsUntilAt(created)).toBe(NOON + 20 * HOUR_MS);
});

test.each([
  // As many as four for each place, at least 8, at most 500; a hundred at a time, and none while half of them are open.
  [{ total: 1_000, fed: 0, ended: 0 }, 0, 8],
  [{ total: 1_000, fed: 0, ended: 0 }, 5, 20],
  [{ total: 1_000, fed: 0, ended: 0 }, 1_000, 100],
  [{ total: 1_000, fed: 500, ended: 249 }, 1_000, 0],
  [{ total: 1_000, fed: 500, ended: 250 }, 1_000, 100],
  [{ total: 1_000, fed: 20, ended: 9 }, 5, 0],
  [{ total: 1_000, fed: 20, ended: 12 }, 5, 12],
  [{ total: 22, fed: 20, ended: 12 }, 5, 2],
])("of %o with %i places %i more lines become jobs", (lines, places, more) => {
  expect(linesToFeed({ name: "a", cursor: null, ...lines }, places)).toBe(more);
});

describe("the lines of a batch", () => {
  test("are in the file, open, or have ended, and each is counted once, by its model", () => {
    expect([openLines(begun), unfedLines(begun), isSpent(begun)]).toEqual([0, 15, false]);
    const fed = noteFed(begun, "a", 10, { hash: 7, line: 3 });
    expect([openLines(fed), unfedLines(fed)]).toEqual([10, 5]);
    expect(fed.models.map(({ cursor }) => cursor)).toEqual([{ hash: 7, line: 3 }, null]);
    let batch: BatchRecord = noteFed(fed, "b", 5, { hash: 1, line: 1 });
    for (let line = 0; line < 10; line += 1) batch = noteLineEnd(batch, line < 9 ? END : FAILED, NOON);
    expect([openLines(batch), isSpent(batch)]).toEqual([5, false]);
    expect(batch.models.map(({ fed, ended }) => [fed, ended])).toEqual([
      [10, 10],
      [5, 0],
    ]);
    for (let line = 0; line < 5; line += 1)
      batch = noteLineEnd(batch, { ...END, model: "b", outcome: "cancelled", usage: null }, NOON);
    expect([openLines(batch), unfedLines(batch), isSpent(batch)]).toEqual([0, 0, true]);
    expect(batch).toMatchObject({ total: 15, completed: 9, failed: 1, workers: { w1: 9 }, errors: { bad_request: 1 } });
    const usage = { inputTokens: 27, outputTokens: 18, cachedInputTokens: 9, reasoningTokens: 9 };
    expect(batch.usage).toEqual(usage);
  });

  test("are counted by a hundred names, the rest together", () => {
    let batch: BatchRecord = begun;
    const end = (errorCode: string) => {
      batch = noteLineEnd(batch, { ...FAILED, errorCode }, NOON);
    };
    for (let code = 0; code < 102; code += 1) end(`code-${code}`);
    end("code-99");
    expect(Object.keys(batch.errors)).toHaveLength(101);
    expect(batch.errors).toMatchObject({ "code-0": 1, "code-99": 2, other: 2 });
  });

  test("cost what their attempts cost, and what is told late takes the place of its estimate", () => {
    const spent = [500, 30, null].reduce(noteSpent, begun);
    expect(spent).toMatchObject({ costNanoUsd: 530, unpriced: 1 });
    expect(noteCorrected(spent, null, 70)).toMatchObject({ costNanoUsd: 600, unpriced: 0 });
    expect(noteCorrected(spent, 500, 20)).toMatchObject({ costNanoUsd: 50, unpriced: 1 });
    expect(noteCorrected(spent, 500, null)).toMatchObject({ costNanoUsd: 30, unpriced: 2 });
  });
});

describe("the pace of a batch", () => {
  const ended = (batch: BatchRecord, count: number, nowAt: number): BatchRecord =>
    Array.from({ length: count }).reduce<BatchRecord>((one) => noteLineEnd(one, END, nowAt), batch);

  test("is that since it began, and nothing is told of a time before it", () => {
    const batch = ended(begun, 10, NOON + 500);
    expect(linesPerMinute(batch, NOON + MINUTE_MS / 2)).toBe(20);
    expect(linesPerMinute(batch, NOON + 500)).toBe(600);
    const late = ended({ ...begun, inProgressAt: NOON + 20_000 }, 10, NOON + 21_000);
    expect(linesPerMinute(late, NOON + 50_000)).toBe(20);
    expect([linesPerMinute(batch, NOON - 1), linesPerMinute(created, NOON + MINUTE_MS)]).toEqual([0, 0]);
  });

  test("is that of the last five minutes, however long it was faster or slower before", () => {
    let batch = ended(begun, 1_000, NOON);
    for (let minute = 1; minute < 10; minute += 1) batch = ended(batch, 10, NOON + minute * MINUTE_MS + 1);
    const paceAt = (minute: number) => linesPerMinute(batch, NOON + minute * MINUTE_MS);
    // Of the five minutes before the twelfth three had lines.
    expect([paceAt(10), paceAt(12), paceAt(15), paceAt(60)]).toEqual([10, 6, 0, 0]);
    const quiet = ended(batch, 3, NOON + 60 * MINUTE_MS);
    expect(linesPerMinute(quiet, NOON + 61 * MINUTE_MS)).toBeCloseTo(3 / 5, 5);
  });
});

test("a batch is looked at when its window ends, when the grace of a cancelled one ends, and not without need", () => {
  const cancelled = beginCancel(begun, NOON + 1);
  expect([created, begun, cancelled].map(nextInstantOf)).toEqual([
    null,
    NOON + 24 * HOUR_MS,
    NOON + 1 + CANCEL_GRACE_MS,
  ]);
  const finished = finishLines(begun, "expired", NOON);
  expect([finished, finishLines(cancelled, "cancelled", NOON), failBatch(begun, [], NOON)].map(nextInstantOf)).toEqual([
    null,
    null,
    null,
  ]);
});

test("a batch that is cancelled needs no line more; it ends as it was to end, once its files are written", () => {
  const cancelled = beginCancel(begun, NOON);
  expect(isSpent(cancelled)).toBe(true);
  expect(isSpent(noteFed(cancelled, "a", 1, { hash: 1, line: 1 }))).toBe(false);
  const status = (batch: BatchRecord) => [batch.status, batch.finalizingAt, batch.endedAt];
  const [expired, ended] = [finishLines(begun, "expired", NOON), finishLines(cancelled, "cancelled", NOON)];
  expect([expired, ended].map(status)).toEqual([
    ["finalizing", NOON, null],
    ["cancelling", null, null],
  ]);
  const bytes = { output: 5, errors: 0 };
  expect(closeBatch(expired, bytes, NOON + 9)).toMatchObject({ status: "expired", outputBytes: 5, endedAt: NOON + 9 });
  expect(closeBatch(ended, bytes, NOON + 9)).toMatchObject({ status: "cancelled", errorBytes: 0 });
});
