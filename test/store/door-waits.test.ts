// Answers of the front door that wait for a job: for its worker, for its end, or for any news of it.

import { expect, test } from "vitest";
import type { JobStatus } from "../../domain/words/job-status.ts";
import { ok } from "../../domain/words/result.ts";
import { type DoorTools, DoorWaits } from "../../durable-objects/waits/door-waits.ts";
import { Waiters } from "../../durable-objects/waits/waiters.ts";

const CALLER = { kind: "key", id: "k", hash: "h" } as const;
const LONG_MS = 5_000;

/** One job, whose changes wake those who wait for it. */
const newDoor = (status: JobStatus) => {
  const waiters = new Waiters();
  const job = { id: "j", status, lease: 1 };
  const settings = { commitAfterMs: LONG_MS };
  const call = async (_caller: unknown, name: string) =>
    ok(name === "ask" ? { job: { ...job }, settings } : { ...job });
  const tools = { call, isValid: () => true, findJob: () => job, waiters } as unknown as DoorTools;
  const change = (next: Partial<typeof job>): void => {
    Object.assign(job, next);
    waiters.notify("watch j");
  };
  return { door: new DoorWaits(tools), job, change };
};

/** Whether it has been answered by the time that nothing else is to be done. */
const isAnswered = async (answer: Promise<unknown>): Promise<boolean> => {
  const nothing = new Promise<"nothing">((resolve) => setImmediate(resolve, "nothing"));
  return (await Promise.race([answer, nothing])) !== "nothing";
};

const ask = (door: DoorWaits, until: "assigned" | "final") =>
  door.ask(CALLER, {} as Parameters<DoorWaits["ask"]>[1], { until, commits: 1 });

test.each([
  ["assigned", ["assigned", "running", "completed", "failed", "cancelled"]],
  ["final", ["completed", "failed", "cancelled"]],
] as const)("a request that waits until its job is %s is answered then, and not before", async (until, reached) => {
  for (const status of ["pending", "assigned", "running", "completed", "failed", "cancelled"] as const) {
    const isReached = (reached as readonly JobStatus[]).includes(status);
    expect(await isAnswered(ask(newDoor(status).door, until))).toBe(isReached);
    const { door, change } = newDoor("pending");
    const answer = ask(door, until);
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
  const { door, job, change } = newDoor("assigned");
  const answer = door.watch(CALLER, { id: "j", seen: { status: "assigned", lease: 1 } }, LONG_MS);
  expect(await isAnswered(answer)).toBe(false);
  change({ status: "running" });
  expect(await isAnswered(answer)).toBe(false);
  change(news);
  expect(await isAnswered(answer)).toBe(true);
  expect(await answer).toEqual(ok({ ...job }));
});

test("a watcher who has seen nothing, or something else, is answered at once", async () => {
  const { door } = newDoor("pending");
  expect(await isAnswered(door.watch(CALLER, { id: "j", seen: null }, LONG_MS))).toBe(true);
  expect(await isAnswered(door.watch(CALLER, { id: "j", seen: { status: "running", lease: 1 } }, LONG_MS))).toBe(true);
});
