// Answers that wait for a job: for its worker, for its end, or for any news of it.

import { expect, test } from "vitest";
import type { JobStatus } from "../../domain/words/job-status.ts";
import { ok } from "../../domain/words/result.ts";
import { type JobTools, JobWaits } from "../../durable-objects/waits/job-waits.ts";
import { Waiters } from "../../durable-objects/waits/waiters.ts";

const CALLER = { kind: "key", id: "k", hash: "h" } as const;
const LONG_MS = 5_000;

/** One job, whose changes wake those who wait for it. */
const newWaits = (status: JobStatus) => {
  const waiters = new Waiters();
  const job = { id: "j", status, lease: 1 };
  const settings = { commitAfterMs: LONG_MS };
  const call = async (_caller: unknown, name: string) =>
    ok(name === "ask" ? { job: { ...job }, settings } : { ...job });
  const caller = { isValid: true };
  const tools = { call, isValid: () => caller.isValid, findJob: () => job, waiters } as unknown as JobTools;
  const change = (next: Partial<typeof job>): void => {
    Object.assign(job, next);
    for (const key of ["watch j", "job j"]) waiters.notify(key);
  };
  const endKey = (): void => {
    caller.isValid = false;
    waiters.notifyAll("job ");
  };
  return { waits: new JobWaits(tools), job, waiters, change, endKey };
};

/** Whether it has been answered by the time that nothing else is to be done. */
const isAnswered = async (answer: Promise<unknown>): Promise<boolean> => {
  const nothing = new Promise<"nothing">((resolve) => setImmediate(resolve, "nothing"));
  return (await Promise.race([answer, nothing])) !== "nothing";
};

const ask = (waits: JobWaits, until: "assigned" | "final") =>
  waits.ask(CALLER, {} as Parameters<JobWaits["ask"]>[1], { until, commits: 1 });

test.each([
  ["assigned", ["assigned", "running", "completed", "failed", "cancelled"]],
  ["final", ["completed", "failed", "cancelled"]],
] as const)("a request that waits until its job is %s is answered then, and not before", async (until, reached) => {
  for (const status of ["pending", "assigned", "running", "completed", "failed", "cancelled"] as const) {
    const isReached = (reached as readonly JobStatus[]).includes(status);
    expect(await isAnswered(ask(newWaits(status).waits, until))).toBe(isReached);
    const { waits, change } = newWaits("pending");
    const answer = ask(waits, until);
    expect(await isAnswered(answer)).toBe(false);
    change({ status });
    expect(await isAnswered(answer)).toBe(isReached);
    change({ status: "failed" });
    expect(await isAnswered(answer)).toBe(true);
  }
});

test.each([
  ["goes to another worker", { status: "assigned", lease: 2 }],
  ["goes to another worker, which starts", { status: "running", lease: 2 }],
  ["goes back to the queue", { status: "pending", lease: 1 }],
  ["ends", { status: "completed", lease: 1 }],
] as const)("a watcher hears of a job that %s, and not of its start", async (_what, news) => {
  const { waits, job, change } = newWaits("assigned");
  const answer = waits.watch(CALLER, { id: "j", seen: { status: "assigned", lease: 1 } }, LONG_MS);
  expect(await isAnswered(answer)).toBe(false);
  change({ status: "running" });
  expect(await isAnswered(answer)).toBe(false);
  change(news);
  expect(await isAnswered(answer)).toBe(true);
  expect(await answer).toEqual(ok({ ...job }));
});

test("a watcher who has seen nothing, or something else, is answered at once", async () => {
  const { waits } = newWaits("pending");
  expect(await isAnswered(waits.watch(CALLER, { id: "j", seen: null }, LONG_MS))).toBe(true);
  expect(await isAnswered(waits.watch(CALLER, { id: "j", seen: { status: "running", lease: 1 } }, LONG_MS))).toBe(true);
});

test("a reader who waits is answered without the job when it is final, and not before", async () => {
  const { waits, waiters, change } = newWaits("pending");
  const answer = waits.end(CALLER, "j", LONG_MS);
  change({ status: "running" });
  expect(await isAnswered(answer)).toBe(false);
  change({ status: "completed" });
  expect(await answer).toEqual(ok(null));
  expect(waiters.isEmpty).toBe(true);
});

test.each([
  ["has no time", "running", 0],
  ["reads a job that is final", "failed", LONG_MS],
] as const)("a reader who %s is answered at once", async (_what, status, waitMs) => {
  expect(await isAnswered(newWaits(status).waits.end(CALLER, "j", waitMs))).toBe(true);
});

test("a reader whose key ends waits no longer", async () => {
  const { waits, endKey } = newWaits("running");
  const answer = waits.end(CALLER, "j", LONG_MS);
  expect(await isAnswered(answer)).toBe(false);
  endKey();
  expect(await isAnswered(answer)).toBe(true);
});
