// The drain with an outbox that never stops growing: waiting for earlier rows must still end.

import { expect, test } from "vitest";
import { DRAIN_ROOM, Drain } from "../../durable-objects/history/drain.ts";
import { projectionOf } from "../../durable-objects/history/projection.ts";
import type { Insert } from "../../durable-objects/history/statements.ts";
import type { Store } from "../../durable-objects/store/open.ts";
import {
  DRAIN_DELAY_MS,
  type OutboxEntries,
  type OutboxRow,
  type StoredEvent,
} from "../../durable-objects/store/outbox.ts";
import { completedJob } from "../domain/job/sample-jobs.ts";

const emptyEntries = { events: [], attempts: [], audit: [], runs: [] };
const line = { at: 0, actor: { keyId: null, name: "n" }, action: "a", target: "t", detail: null };
const entries = { ...emptyEntries, audit: [line] };

/** An outbox to which each batch that leaves adds as many rows as it took. */
const growingOutbox = () => {
  let rows: OutboxRow[] = [1, 2, 3].map((seq) => ({ seq, at: 0, chars: 1, entries }));
  let lastSeq = 3;
  const outbox = {
    oldest: () => rows.slice(0, 2),
    recentAfter: () => [],
    waitingChars: () => 0,
    oldestAt: () => rows[0]?.at ?? null,
    firstSeq: () => rows[0]?.seq ?? Number.POSITIVE_INFINITY,
    lastSeq: () => lastSeq,
  };
  const removeUpTo = async (upToSeq: number): Promise<void> => {
    rows = rows.filter(({ seq }) => seq > upToSeq);
    for (let added = 0; added < 2; added += 1) {
      lastSeq += 1;
      rows.push({ seq: lastSeq, at: 0, chars: 1, entries });
    }
  };
  const store = {
    outbox,
    jobs: { findMany: () => [], isCrowded: () => false },
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

test("history is well until it fails, or says nothing for two seconds; then nobody waits for it", async () => {
  let nowAt = 0;
  const answers: (() => void)[] = [];
  const { drain } = drainOf(
    () => new Promise((resolve) => answers.push(resolve)),
    () => nowAt,
  );
  void drain.flush();
  nowAt = 1_999;
  expect(drain.isWell).toBe(true);
  nowAt = 2_000;
  expect(drain.isWell).toBe(false);
  answers[0]?.();
  await drain.ended();
  expect(drain.isWell).toBe(true);
  const failing = drainOf(() => Promise.reject(new Error("away"))).drain;
  await failing.flush();
  expect(failing.isWell).toBe(false);
});

test("a run after a long outage asks no more than one invocation may, and the next goes on where it ended", async () => {
  let batches = 0;
  const { store, removeUpTo } = growingOutbox();
  const apply = async () => {
    batches += 1;
  };
  // Each batch of this outbox is one query.
  const tools = { store, tenant: "t", now: () => DRAIN_DELAY_MS, random: () => 0, apply, removeUpTo };
  const drain = new Drain({ ...tools, queriesARun: 1 });
  expect([await drain.start(), batches, store.outbox.firstSeq()]).toEqual([false, 1, 3]);
  expect(drain.dueAt()).toBe(DRAIN_DELAY_MS);
  expect([await drain.flush(), batches, store.outbox.firstSeq()]).toEqual([false, 2, 5]);
});

/** Rows written a second apart, the first at 0. */
const spacedOutbox = (count: number, isCrowded: boolean, each: OutboxEntries = entries) => {
  let rows = Array.from({ length: count }, (_, at) => ({ seq: at + 1, at: at * 1_000, chars: 1, entries: each }));
  const outbox = {
    oldest: ({ untilAt = 0 }: { untilAt?: number }) => rows.filter(({ at }) => at <= untilAt),
    recentAfter: () => [],
    waitingChars: () => 0,
    oldestAt: () => rows[0]?.at ?? null,
    firstSeq: () => rows[0]?.seq ?? Number.POSITIVE_INFINITY,
    lastSeq: () => count,
  };
  const removeUpTo = async (upToSeq: number): Promise<void> => {
    rows = rows.filter(({ seq }) => seq > upToSeq);
  };
  const { payloads, jobs } = growingOutbox().store;
  const store = { outbox, payloads, jobs: { ...jobs, isCrowded: () => isCrowded } } as unknown as Store;
  return { store, removeUpTo };
};

test("a change that is young waits for the next run, in which its job may have ended; not for a reader", async () => {
  const { store, removeUpTo } = spacedOutbox(4, false);
  const drain = new Drain({ store, tenant: "t", now: () => 3_000, random: () => 0, apply: async () => {}, removeUpTo });
  expect([await drain.start(), store.outbox.firstSeq(), drain.dueAt()]).toEqual([true, 4, 3_000 + DRAIN_DELAY_MS]);
  expect([await drain.flush(), store.outbox.firstSeq()]).toEqual([true, Number.POSITIVE_INFINITY]);
});

test("nothing waits while the journal is crowded: it is due at once, and all of it is sent", async () => {
  const { store, removeUpTo } = spacedOutbox(4, true);
  const drain = new Drain({ store, tenant: "t", now: () => 100, random: () => 0, apply: async () => {}, removeUpTo });
  expect(drain.dueAt()).toBe(100);
  expect([await drain.start(), store.outbox.firstSeq()]).toEqual([true, Number.POSITIVE_INFINITY]);
});

test("what was written before the clock was set back does not wait until the clock is there again", async () => {
  const { store, removeUpTo } = spacedOutbox(4, false);
  const nowAt = -3_600_000;
  const drain = new Drain({ store, tenant: "t", now: () => nowAt, random: () => 0, apply: async () => {}, removeUpTo });
  expect([drain.dueAt(), await drain.start(), store.outbox.firstSeq()]).toEqual([
    nowAt,
    true,
    Number.POSITIVE_INFINITY,
  ]);
});

test("rows that only the journal needs leave without a word to history", async () => {
  const { store, removeUpTo } = spacedOutbox(2, false, emptyEntries);
  const apply = () => Promise.reject(new Error("history is asked"));
  const drain = new Drain({ store, tenant: "t", now: () => 0, random: () => 0, apply, removeUpTo });
  expect([await drain.flush(), store.outbox.firstSeq()]).toEqual([true, Number.POSITIVE_INFINITY]);
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
  expect(drain.dueAt()).toBeLessThanOrEqual(Math.max(waitMs, DRAIN_DELAY_MS));
  nowAt = waitMs;
  expect(drain.start()).not.toBeNull();
});

/**
 * An outbox in which each of these rows is full and names jobs; all jobs have ended by now, unless told otherwise. Rows
 * up to one are in memory.
 */
const fullOutbox = (
  jobsOfRows: readonly (readonly string[])[],
  versionOf: (id: string) => number = () => 3,
  recentSeq = 0,
) => {
  const rows = jobsOfRows.map((ids, index): OutboxRow => {
    const events = ids.map(
      (jobId): StoredEvent => ({ jobId, version: index + 1, at: 0, type: "job.assigned", text: `[${index + 1}]` }),
    );
    return { seq: index + 1, at: 0, chars: DRAIN_ROOM.chars, entries: { ...emptyEntries, events } };
  });
  const outbox = {
    oldest: (_room: object, fromSeq = 0) => rows.filter(({ seq }) => seq >= fromSeq).slice(0, 1),
    recentAfter: (seq: number) => rows.filter((row) => row.seq > seq && row.seq <= recentSeq),
    waitingChars: () => 0,
    oldestAt: () => rows[0]?.at ?? null,
    firstSeq: () => rows[0]?.seq ?? Number.POSITIVE_INFINITY,
    lastSeq: () => jobsOfRows.length,
  };
  const findMany = (ids: readonly string[]) =>
    ids.map((id) => ({ job: { ...completedJob(), id, version: versionOf(id) }, text: "{}" }));
  const payloads = { findMany: () => new Map(), findResults: () => new Map() };
  const store = { outbox, payloads, jobs: { findMany, isCrowded: () => false } } as unknown as Store;
  const removeUpTo = async (seq: number): Promise<void> => {
    while ((rows[0]?.seq ?? seq + 1) <= seq) rows.shift();
  };
  return { store, removeUpTo };
};

/** The jobs that a batch writes. */
const jobsIn = (inserts: readonly Insert[]): string[] =>
  inserts
    .filter(({ sql }) => sql.includes("INTO jobs"))
    .flatMap(({ values }) => (JSON.parse(String(values[0])) as [string][]).map(([id]) => id));

test("a job that history has in its last version is not sent again with its later events; one that changed is", async () => {
  let version = 2;
  const { store, removeUpTo } = fullOutbox([["a", "b"], ["a"], ["b"], ["a"]], (id) => (id === "b" ? version : 3));
  const sent: string[][] = [];
  const apply = async (inserts: readonly Insert[]): Promise<void> => {
    sent.push(jobsIn(inserts));
    version = 4;
  };
  const drain = new Drain({ store, tenant: "t", now: () => 0, random: () => 0, apply, removeUpTo });
  expect(await drain.flush()).toBe(true);
  expect(sent).toEqual([["a", "b"], [], ["b"], []]);
});

test("a load is told whether the outbox has more, so that what concerns no row goes with the last", async () => {
  const { store, removeUpTo } = fullOutbox([["a"], ["b"], ["c"]], () => 1);
  const told: boolean[] = [];
  const apply = async (_inserts: readonly Insert[], isLast: boolean): Promise<void> => void told.push(isLast);
  const drain = new Drain({ store, tenant: "t", now: () => 0, random: () => 0, apply, removeUpTo });
  expect(await drain.flush()).toBe(true);
  expect(told).toEqual([false, false, true]);
});

/** The versions of the events that a batch brings, by job. */
const toldIn = (inserts: readonly Insert[]): Record<string, number[]> =>
  Object.fromEntries(
    inserts
      .filter(({ sql }) => /INTO jobs|UPDATE jobs/.test(sql))
      .flatMap(({ values }) => JSON.parse(String(values[0])) as unknown[][])
      .map((row) => {
        const told = row.at(-1);
        const events = (typeof told === "string" ? JSON.parse(told) : told) as [number][];
        return [row[0], events.map(([version]) => version)];
      }),
  );

test("a job brings its events of later batches, which leave them out; those that are not in memory come in their own", async () => {
  const { store, removeUpTo } = fullOutbox([["a", "b"], ["a"], ["b"], ["a"]], () => 3, 3);
  const told: object[] = [];
  const apply = async (inserts: readonly Insert[]): Promise<void> => void told.push(toldIn(inserts));
  const drain = new Drain({ store, tenant: "t", now: () => 0, random: () => 0, apply, removeUpTo });
  expect(await drain.flush()).toBe(true);
  expect(told).toEqual([{ a: [1, 2], b: [1, 3] }, { a: [4] }]);
});

test("a batch looks at later rows only as far as the last events of its jobs", () => {
  const { store } = fullOutbox([["a"], ["a"], ["b"]], () => 2, 3);
  const read: number[] = [];
  const ahead = store.outbox.recentAfter(1).map((row) => ({
    ...row,
    get entries() {
      read.push(row.seq);
      return row.entries;
    },
  }));
  const { inserts } = projectionOf(store, store.outbox.oldest(DRAIN_ROOM), ahead, { get: () => undefined });
  expect([toldIn(inserts), read]).toEqual([{ a: [1, 2] }, [2]]);
});

test("of a job that changes again and again the events end with its ten thousandth version", () => {
  const { store } = fullOutbox([["a"]]);
  const event = { jobId: "a", at: 0, type: "job.updated", text: "[1,0,null,null,0,null]" } as const;
  const events = [9_999, 10_000, 10_001].map((version) => ({ ...event, version }));
  const row = { seq: 1, at: 0, chars: 1, entries: { ...emptyEntries, events } };
  const { inserts } = projectionOf(store, [row], [], { get: () => undefined });
  const [told] = inserts.filter(({ sql }) => sql.includes("INTO events")).flatMap(({ values }) => values);
  expect((JSON.parse(String(told)) as [string, number][]).map(([, version]) => version)).toEqual([9_999, 10_000]);
});

test("a batch that did not arrive is sent again whole, and nothing after it arrives before", async () => {
  const { store, removeUpTo } = fullOutbox([["a"], ["a", "b"]]);
  const sent: string[][] = [];
  const apply = async (inserts: readonly Insert[]): Promise<void> => {
    sent.push(jobsIn(inserts));
    if (sent.length === 1) throw new Error("D1 is away");
  };
  const drain = new Drain({ store, tenant: "t", now: () => 0, random: () => 0, apply, removeUpTo });
  expect(await drain.flush()).toBe(false);
  expect(store.outbox.firstSeq()).toBe(1);
  expect(await drain.flush()).toBe(true);
  expect(sent).toEqual([["a"], ["a"], ["b"]]);
});

test("the next batch is prepared while history works on the one before, and sent after it has left the outbox", async () => {
  const log: string[] = [];
  const { store, removeUpTo } = fullOutbox([["a"], ["b"]]);
  const { findMany } = store.jobs;
  store.jobs.findMany = (ids) => {
    log.push(`${ids} is read`);
    return findMany(ids);
  };
  const apply = async (inserts: readonly Insert[]): Promise<void> => {
    log.push(`${jobsIn(inserts)} is sent`);
    await Promise.resolve();
  };
  const remove = async (seq: number): Promise<void> => {
    log.push(`row ${seq} leaves`);
    await removeUpTo(seq);
  };
  const drain = new Drain({ store, tenant: "t", now: () => 0, random: () => 0, apply, removeUpTo: remove });
  expect(await drain.flush()).toBe(true);
  expect(log).toEqual(["a is read", "a is sent", "b is read", "row 1 leaves", "b is sent", "row 2 leaves"]);
});
