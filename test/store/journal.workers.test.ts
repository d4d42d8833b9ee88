// The journal in real workerd: where a job is at each moment, and what is there when the object wakes.

import { expect, test } from "vitest";
import { changeJob, type Job } from "../../domain/job/job.ts";
import { createJob } from "../../domain/job/new-job.ts";
import { all } from "../../durable-objects/store/sql.ts";
import { asked } from "../support/new-job.ts";
import {
  assign,
  commit,
  complete,
  create,
  drain,
  inStore,
  journalKeepsJobs,
  LONG,
  TOO_LATE,
} from "../support/workerd/journaled-jobs.ts";

journalKeepsJobs();

test("a job that was just created stands in one row, the outbox's, and is there when the object wakes", async () => {
  const { rows, job, payload, head, counts } = await inStore(({ store, woken, rows }) => {
    create(store, "a", 1);
    commit(store, 1);
    const { jobs, payloads } = woken();
    const job = jobs.find("a");
    const groupKey = job?.groupKey ?? "";
    const head = [jobs.headOf(groupKey), jobs.waitingCounts()];
    return { rows: rows(), job, payload: payloads.find("a"), head, counts: jobs.openCounts() };
  });
  expect(rows).toEqual({ jobs: 0, payloads: 0, results: 0, outbox: 1 });
  expect(job).toMatchObject({ id: "a", version: 1, status: "pending" });
  expect(payload).toEqual({ prompt: "p", input: { deep: [1, "two", null] } });
  expect(head).toEqual([
    { id: "a", orderKey: job?.orderKey },
    [{ groupKey: job?.groupKey, lane: "normal /", count: 1 }],
  ]);
  expect(counts).toEqual({ pending: 1, assigned: 0, running: 0 });
});

test("a job is read as its last row has it, with the payload of its first", async () => {
  const seen = await inStore(({ store, woken }) => {
    const job = assign(store, create(store, "a", 1), 2);
    commit(store, 1, 2);
    complete(store, job, 3, "done");
    commit(store, 3);
    const { jobs, payloads } = woken();
    return [jobs.find("a")?.status, payloads.find("a").prompt, payloads.findResult("a"), jobs.leasedBy("w")];
  });
  expect(seen).toEqual(["completed", "p", "done", []]);
});

test("a job's later rows have what changed of it, and waking puts the job together again", async () => {
  const seen = await inStore(({ store, woken, sql }) => {
    const assigned = assign(store, create(store, "a", 1, { tags: ["gpu"] }), 2);
    commit(store, 1, 2);
    const job = complete(store, assigned, 3, "done");
    commit(store, 3);
    const told = all(sql, "SELECT json_extract(jobs, '$[0].job') AS job FROM outbox ORDER BY seq");
    return { job, woken: woken().jobs.find("a"), last: JSON.parse(told.at(-1)?.job as string) };
  });
  expect(seen.woken).toEqual(seen.job);
  const changed = { id: "a", version: 3, status: "completed", finishedAt: 3_000, updatedAt: 3_000 };
  expect(seen.last).toEqual(changed);
});

test("a job that changes several times in a commit, in one row or in several, is read as it was after it", async () => {
  const seen = await inStore(({ store, woken }) => {
    const [one, other] = [create(store, "one", 1), create(store, "other", 1)];
    const young = create(store, "young", 2);
    commit(store, 1);
    const jobs = [
      complete(store, assign(store, one, 2), 2, "done"),
      complete(store, assign(store, other, 2), 3, "done"),
      complete(store, assign(store, young, 3), 3, "done"),
    ];
    commit(store, 2, 3);
    const { jobs: stored } = woken();
    return { jobs, woken: jobs.map(({ id }) => stored.find(id)) };
  });
  expect(seen.woken).toEqual(seen.jobs);
});

test("a job that is open when history has its creation stands in the tables from then on", async () => {
  const seen = await inStore(({ store, woken, rows }) => {
    const job = create(store, "a", 1);
    commit(store, 1);
    drain(store, 1);
    assign(store, job, 2);
    commit(store, 2);
    const { jobs, payloads } = woken();
    return { rows: rows(), held: jobs.leasedBy("w").map(({ id }) => id), prompt: payloads.find("a").prompt };
  });
  expect(seen).toEqual({ rows: { jobs: 1, payloads: 1, results: 0, outbox: 1 }, held: ["a"], prompt: "p" });
});

test("a job that changed since history was sent its creation goes to the tables, not away with its first row", async () => {
  const seen = await inStore(({ store, woken, rows }) => {
    const job = create(store, "a", 1);
    commit(store, 1);
    complete(store, job, 2, "done");
    commit(store, 2);
    drain(store, 1);
    const { jobs, payloads } = woken();
    return [jobs.find("a")?.status, payloads.find("a").prompt, payloads.findResult("a"), rows()];
  });
  expect(seen).toEqual(["completed", "p", "done", { jobs: 1, payloads: 1, results: 1, outbox: 1 }]);
});

test("a job that has ended when history has it leaves no row behind, and is read for a while", async () => {
  const seen = await inStore(({ store, woken, rows }) => {
    complete(store, create(store, "a", 1), 2, "done");
    commit(store, 1, 2);
    drain(store, 2);
    const read = [store.jobs.find("a")?.status, store.payloads.find("a").prompt, store.payloads.findResult("a")];
    store.jobs.forgetEnded(13_000);
    return { read, rows: rows(), later: store.jobs.find("a"), woken: woken().jobs.find("a") };
  });
  const none = { jobs: 0, payloads: 0, results: 0, outbox: 0 };
  expect(seen).toEqual({ read: ["completed", "p", "done"], rows: none, later: null, woken: null });
});

test("a failed job that is retried after history has it comes back to the tables with its prompt", async () => {
  const seen = await inStore(({ store, woken, rows }) => {
    const job = create(store, "a", 1);
    const failed = changeJob(job, { status: "failed", orderKey: null, finishedAt: 3_000 }, 3_000);
    store.jobs.put(failed, 13_000, 1);
    commit(store, 1);
    drain(store, 1);
    store.jobs.put(changeJob(failed, { status: "pending", orderKey: 1 }, 4_000), null, 2);
    commit(store, 2);
    const { jobs, payloads } = woken();
    return [jobs.find("a")?.status, payloads.find("a").prompt, rows()];
  });
  expect(seen).toEqual(["pending", "p", { jobs: 1, payloads: 1, results: 0, outbox: 1 }]);
});

test("long texts have rows of their own from the beginning, and go when their job goes", async () => {
  const seen = await inStore(({ store, woken, rows }) => {
    const job = create(store, "a", 1, { prompt: LONG });
    const early = rows();
    complete(store, job, 2, LONG);
    commit(store, 1, 2);
    const { payloads } = woken();
    const read = [payloads.find("a").prompt === LONG, payloads.findResult("a") === LONG];
    const many = [payloads.findMany(["a"]).size, payloads.findResults(["a"]).size];
    drain(store, 2);
    const stayed = store.jobs.removable(13_000, 2, 10);
    store.jobs.removeMany(stayed);
    return { early, read, many, stayed, late: rows() };
  });
  expect(seen).toEqual({
    early: { jobs: 0, payloads: 1, results: 0, outbox: 0 },
    read: [true, true],
    many: [1, 1],
    stayed: ["a"],
    late: { jobs: 0, payloads: 0, results: 0, outbox: 0 },
  });
});

test("a job that is open when history has its creation stays for a while, in the row that it began in", async () => {
  const seen = await inStore(({ store, woken, rows }) => {
    const job = create(store, "a", 1);
    commit(store, 1);
    const counted = [store.outbox.waitingChars()];
    drain(store, 1, 2_000);
    counted.push(store.outbox.waitingChars());
    complete(store, assign(store, job, 2), 3, "done");
    commit(store, 2, 3);
    const { jobs, payloads, outbox } = woken();
    const read = [jobs.find("a")?.status, payloads.find("a").prompt, payloads.findResult("a")];
    const undrained = [outbox.firstSeq(), outbox.count(), outbox.waitingChars(), outbox.oldestAt()];
    counted.push(store.outbox.waitingChars());
    const kept = rows();
    drain(store, 3, 3_000);
    return { read, undrained, counted, kept, left: rows(), woken: woken().jobs.find("a") };
  });
  expect(seen).toEqual({
    read: ["completed", "p", "done"],
    undrained: [2, 2, 800, 2],
    counted: [400, 0, 800],
    kept: { jobs: 0, payloads: 0, results: 0, outbox: 3 },
    left: { jobs: 0, payloads: 0, results: 0, outbox: 0 },
    woken: null,
  });
});

test("rows that are kept for one job bring back no other: not one that ended, nor one that went to the tables", async () => {
  const seen = await inStore(({ store, woken, rows }) => {
    const gone = create(store, "gone", 1);
    const stays = create(store, "stays", 2);
    const ended = create(store, "ended", 2);
    assign(store, gone, 2);
    commit(store, 1, 2);
    complete(store, ended, 3, "done");
    commit(store, 3);
    store.jobs.settle(1, TOO_LATE);
    const moved = rows().jobs;
    store.outbox.removeUpTo(1);
    store.jobs.removeMany(["gone"]);
    drain(store, 3, 2_000);
    const { jobs } = woken();
    return { moved, read: ["gone", "stays", "ended"].map((id) => jobs.find(id)?.id), outbox: rows().outbox, stays };
  });
  expect(seen).toMatchObject({ moved: 1, read: [undefined, "stays", undefined], outbox: 2 });
});

test("a job that ended in the table leaves it after the row that has its creation, which is kept for another", async () => {
  const seen = await inStore(({ store, woken, rows }) => {
    const { jobs, outbox } = store;
    // Before the clock was set back.
    const older = create(store, "older", 1, {}, 5_000);
    const younger = create(store, "younger", 2);
    commit(store, 1, 2);
    drain(store, 2);
    complete(store, younger, 3, "done");
    commit(store, 3);
    drain(store, 3);
    const early = jobs.removable(TOO_LATE, outbox.goneSeq(), 10);
    jobs.shelve(TOO_LATE, outbox.goneSeq());
    const kept = [rows().outbox, jobs.unshelve(outbox.goneSeq(), TOO_LATE), woken().jobs.find("younger")?.status];
    complete(store, older, 4, "done");
    commit(store, 4);
    drain(store, 4);
    const freed = jobs.unshelve(outbox.goneSeq(), TOO_LATE);
    const gone = jobs.removable(TOO_LATE, outbox.goneSeq(), 10);
    jobs.removeMany(gone);
    return { early, kept, freed, gone, left: rows(), woken: woken().jobs.find("younger") };
  });
  const left = { jobs: 0, payloads: 0, results: 0, outbox: 0 };
  expect(seen).toEqual({ early: [], kept: [3, false, "completed"], freed: true, gone: ["younger"], left, woken: null });
});

test("a change that history does not hear of is in a row of its own, where waking finds it", async () => {
  const seen = await inStore(({ store, woken, rows }) => {
    const job = create(store, "a", 1, { runAt: 5_000 });
    commit(store, 1);
    for (let seq = 2; seq <= 120; seq += 1) {
      store.jobs.touch({ ...job, orderKey: 127 - seq }, 9_000, () => seq);
      commit(store, seq);
    }
    const { jobs } = woken();
    return [jobs.headOf(job.groupKey), jobs.openCounts().pending, jobs.nextDueAt(), rows().jobs];
  });
  expect(seen).toEqual([{ id: "a", orderKey: 7 }, 1, 9_000, 0]);
});

test("after a rollback the journal is what the rows say", async () => {
  const seen = await inStore(({ store }) => {
    const job = create(store, "a", 1);
    commit(store, 1);
    assign(store, job, 2);
    create(store, "b", 2);
    store.forgetRecent();
    return [store.jobs.find("a")?.status, store.jobs.find("b"), store.jobs.leasedBy("w"), store.jobs.openCounts()];
  });
  expect(seen).toEqual(["pending", null, [], { pending: 1, assigned: 0, running: 0 }]);
});

test("a record of a release that knew less of a job is read with what it lacks", async () => {
  const seen = await inStore(({ store, woken }) => {
    const { traceparent: _later, ...old } = createJob(asked, "a", 1_000).job;
    store.jobs.add(old as Job, null, 1);
    commit(store, 1);
    return woken().jobs.find("a");
  });
  expect(seen).toMatchObject({ id: "a", traceparent: null });
});
