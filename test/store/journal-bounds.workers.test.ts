// How much the journal holds, and what waking reads of it: beyond its bounds jobs go to the tables.

import { afterEach, expect, test } from "vitest";
import { JOURNAL_ROOM } from "../../durable-objects/store/journal.ts";
import { all } from "../../durable-objects/store/sql.ts";
import { commit, complete, create, drain, inStore, journalKeepsJobs } from "../support/workerd/journaled-jobs.ts";

journalKeepsJobs();

const room = { ...JOURNAL_ROOM };
afterEach(() => void Object.assign(JOURNAL_ROOM, { ...room, stayMs: JOURNAL_ROOM.stayMs }));

test("a job stays no longer than so much is written, before and after waking", async () => {
  JOURNAL_ROOM.stayChars = 300;
  const seen = await inStore(({ store, woken, rows }) => {
    create(store, "a", 1);
    commit(store, 1);
    drain(store, 1, 2_000);
    const few = rows().jobs;
    create(store, "b", 2);
    commit(store, 2);
    drain(woken(), 2, 2_000);
    return { few, many: rows() };
  });
  expect(seen).toEqual({ few: 0, many: { jobs: 1, payloads: 1, results: 0, outbox: 1 } });
});

test("a job that has ended is not moved for the moment until history has its end, before and after waking", async () => {
  JOURNAL_ROOM.stayChars = 300;
  const seen = await inStore(({ store, woken, rows }) => {
    complete(store, create(store, "a", 1), 2, "done");
    commit(store, 1, 2);
    drain(store, 1, 4_000);
    const before = rows();
    const again = woken();
    drain(again, 1, 4_000);
    const after = rows();
    drain(again, 2, 4_000);
    return { before, after, ended: rows(), found: again.jobs.find("a")?.status };
  });
  const none = { jobs: 0, payloads: 0, results: 0 };
  expect(seen).toEqual({
    before: { ...none, outbox: 2 },
    after: { ...none, outbox: 2 },
    ended: { ...none, outbox: 0 },
    found: "completed",
  });
});

test("past its bound the oldest go to the tables, no more than must, and waking does not read those rows again", async () => {
  JOURNAL_ROOM.jobs = 4;
  const seen = await inStore(({ store, woken, rows }) => {
    for (let seq = 1; seq <= 6; seq += 1) {
      create(store, `job-${seq}`, seq);
      commit(store, seq);
      store.jobs.makeRoom();
    }
    const { jobs, settings } = woken();
    const newest = jobs.newest(10).map(({ id }) => id);
    return { rows: rows(), spilled: settings.spilledSeq(), newest, pending: jobs.openCounts().pending };
  });
  expect(seen).toEqual({
    rows: { jobs: 2, payloads: 2, results: 0, outbox: 6 },
    spilled: 2,
    newest: ["job-6", "job-5", "job-4", "job-3", "job-2", "job-1"],
    pending: 6,
  });
});

test("what waking reads is bounded while history is away: a job whose changes go on and on moves to the tables", async () => {
  JOURNAL_ROOM.readChars = 20_000;
  const seen = await inStore(({ store, woken, rows }) => {
    const job = create(store, "a", 1);
    commit(store, 1);
    const full = new Set<number>();
    for (let seq = 2; seq <= 200; seq += 1) {
      store.jobs.touch({ ...job, heartbeatAt: seq }, seq, () => seq);
      commit(store, seq);
      const opened = seq % 2 === 0 ? store : woken();
      if (opened.jobs.makeRoom()) full.add(seq);
      if (opened !== store) store.forgetRecent();
    }
    return { moves: full.size, rows: rows().jobs, beat: woken().jobs.find("a")?.heartbeatAt };
  });
  expect(seen).toEqual({ moves: 1, rows: 1, beat: 200 });
});

test("jobs of one row stay equally long, before and after waking", async () => {
  const moved = [false, true].map((isWoken) =>
    inStore(({ store, woken, rows, sql }) => {
      for (const id of ["a", "b", "c"]) create(store, id, 1);
      commit(store, 1);
      JOURNAL_ROOM.stayChars = Number(all(sql, "SELECT length(jobs) / 2 AS half FROM outbox")[0]?.half);
      drain(isWoken ? woken() : store, 1, 2_000);
      return rows().jobs;
    }),
  );
  expect(await Promise.all(moved)).toEqual([3, 3]);
});

test("prompts, inputs and results count against its bound, before and after waking", async () => {
  const text = "x".repeat(3_000);
  JOURNAL_ROOM.chars = 20_000;
  const seen = await inStore(({ store, woken }) => {
    for (const [index, id] of ["a", "b"].entries()) {
      const job = create(store, id, 2 * index + 1, { prompt: text });
      complete(store, job, 2 * index + 2, text);
      commit(store, 2 * index + 1, 2 * index + 2);
    }
    const hasRoom = [store.jobs.makeRoom(), woken().jobs.makeRoom()];
    for (let seq = 5; seq <= 7; seq += 1) {
      create(store, `c${seq}`, seq, { prompt: text });
      commit(store, seq);
    }
    return { hasRoom, isFull: [woken().jobs.makeRoom(), store.jobs.makeRoom()] };
  });
  expect(seen).toEqual({ hasRoom: [false, false], isFull: [true, true] });
});
