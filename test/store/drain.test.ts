// The drain with an outbox that never stops growing: waiting for earlier rows must still end.

import { expect, test } from "vitest";
import { Drain } from "../../durable-objects/drain.ts";
import type { Store } from "../../durable-objects/store/open.ts";
import type { OutboxRow } from "../../durable-objects/store/outbox.ts";

const emptyEntries = { events: [], attempts: [], audit: [], runs: [] };

/** An outbox to which each batch that leaves adds as many rows as it took. */
const growingOutbox = () => {
  let rows: OutboxRow[] = [1, 2, 3].map((seq) => ({ seq, at: 0, chars: 1, entries: emptyEntries }));
  let lastSeq = 3;
  const outbox = {
    oldest: () => rows.slice(0, 2),
    oldestAt: () => rows[0]?.at ?? null,
    firstSeq: () => rows[0]?.seq ?? Number.POSITIVE_INFINITY,
    lastSeq: () => lastSeq,
  };
  const removeUpTo = async (upToSeq: number): Promise<void> => {
    rows = rows.filter(({ seq }) => seq > upToSeq);
    for (let added = 0; added < 2; added += 1) {
      lastSeq += 1;
      rows.push({ seq: lastSeq, at: 0, chars: 1, entries: emptyEntries });
    }
  };
  const store = {
    outbox,
    jobs: { findMany: () => [] },
    payloads: { findMany: () => new Map(), findResults: () => new Map() },
  };
  return { store: store as unknown as Store, removeUpTo };
};

const drainOf = (apply: () => Promise<void>, now = () => 0) => {
  const { store, removeUpTo } = growingOutbox();
  return { drain: new Drain({ store, tenant: "t", now, random: () => 0, apply, removeUpTo }), store };
};

test("a reader waits for what was written before it asked, not for what is written meanwhile", async () => {
  let batches = 0;
  const { drain } = drainOf(async () => {
    batches += 1;
  });
  expect(await drain.flush()).toBe(true);
  expect(batches).toBe(2);
});

test("a reader does not wait for hours of changes: it is told so, and the outbox goes on emptying", async () => {
  let nowAt = 0;
  const { drain, store } = drainOf(
    async () => {
      nowAt += 6_000;
    },
    () => nowAt,
  );
  expect(await drain.flush(5_000)).toBe(false);
  expect(store.outbox.firstSeq()).toBe(3);
  expect(await drain.flush(60_000)).toBe(true);
});

test("a reader does not wait for a history that accepts a batch and never answers", async () => {
  const { drain, store } = drainOf(() => new Promise(() => undefined));
  expect(await drain.flush(20)).toBe(false);
  expect(store.outbox.firstSeq()).toBe(1);
});

test("readers that wait at once share a batch", async () => {
  let batches = 0;
  const { drain } = drainOf(async () => {
    batches += 1;
  });
  expect(await Promise.all([drain.flush(), drain.flush(), drain.flush()])).toEqual([true, true, true]);
  expect(batches).toBe(2);
});

test("with history away a reader is told so, and the outbox keeps what it has", async () => {
  const { drain, store } = drainOf(() => Promise.reject(new Error("D1 is away")));
  expect(await drain.flush()).toBe(false);
  expect(store.outbox.firstSeq()).toBe(1);
  expect(drain.start()).toBeNull();
});

test("a clock that is set back an hour makes the wait for a history that was away no longer", async () => {
  let nowAt = 3_600_000;
  const { drain } = drainOf(
    () => Promise.reject(new Error("D1 is away")),
    () => nowAt,
  );
  await drain.flush();
  const waitMs = (drain.dueAt() ?? 0) - nowAt;
  expect(waitMs).toBeGreaterThan(0);
  nowAt = 0;
  expect(drain.dueAt()).toBeLessThanOrEqual(waitMs);
  nowAt = waitMs;
  expect(drain.start()).not.toBeNull();
});
