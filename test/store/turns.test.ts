// Group commit: which turns share a commit.

import { setTimeout as pause } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import type { TenantStorage } from "../../durable-objects/store/sql.ts";
import { TurnQueue } from "../../durable-objects/turn/turns.ts";

const queueThatCounts = () => {
  const commits: number[] = [];
  let closed = 0;
  const transactionSync = (work: () => unknown): unknown => {
    commits.push(0);
    return work();
  };
  const storage = { transactionSync } as unknown as TenantStorage;
  const undone: unknown[] = [];
  const hooks = { close: () => (closed += 1), tell: () => undefined, undo: (error: unknown) => undone.push(error) };
  const turns = new TurnQueue(storage, hooks);
  const turn = (): Promise<number> =>
    turns.run(() => {
      commits[commits.length - 1] = (commits.at(-1) ?? 0) + 1;
      return commits.length;
    });
  return { turns, turn, commits, undone, closedCount: () => closed };
};

test("turns asked for together run at once, in one commit with those that waited", async () => {
  const { turns, turn, commits } = queueThatCounts();
  const waiting = turn();
  expect(commits).toEqual([]);
  const group = turns.together(() => [turn(), turn(), turn()]);
  expect(commits).toEqual([4]);
  expect(await Promise.all([waiting, ...group])).toEqual([1, 1, 1, 1]);
});

test("the timer that the waiting ones had set commits nothing more", async () => {
  const { turns, turn, commits, closedCount } = queueThatCounts();
  void turn();
  turns.together(() => turn());
  // Timers of one length end in their order.
  await pause(0);
  expect(commits).toEqual([2]);
  expect(closedCount()).toBe(1);
});

test("more turns than a commit takes follow in the next ones", async () => {
  const { turns, turn, commits } = queueThatCounts();
  const all = turns.together(() => Array.from({ length: 513 }, turn));
  expect(commits).toEqual([256]);
  await Promise.all(all);
  expect(commits).toEqual([256, 256, 1]);
});

test("a worker's frame of a thousand messages takes several commits: its first answers do not wait for the last", async () => {
  const { turns, commits } = queueThatCounts();
  const turnOf64 = () => turns.run(() => commits.length, false, 64);
  expect(await Promise.all(turns.together(() => Array.from({ length: 16 }, turnOf64)))).toEqual(
    [1, 2, 3, 4].flatMap((commit) => [commit, commit, commit, commit]),
  );
});

test("a turn of 64 messages has its place beside all the vital turns that a commit takes", async () => {
  const { turns, commits } = queueThatCounts();
  const asked = turns.together(() => {
    const many = turns.run(() => commits.length, false, 64);
    for (let vital = 0; vital < 300; vital += 1) void turns.run(() => undefined, true);
    return many;
  });
  expect(await asked).toBe(1);
});

test("a turn that fails rolls its commit back and fails alone: only it is to blame, and the others run again", async () => {
  const { turns, turn, commits, undone } = queueThatCounts();
  const broken = new Error("it breaks");
  const failing = () =>
    turns.run(() => {
      throw broken;
    });
  const asked = turns.together(() => [turn(), failing(), turn()]);
  const [first, second, third] = await Promise.allSettled(asked);
  expect([first, third].map((one) => one?.status)).toEqual(["fulfilled", "fulfilled"]);
  expect(second).toEqual({ status: "rejected", reason: broken });
  expect(undone).toEqual([null, broken]);
  expect(commits).toEqual([1, 1, 0, 1]);
  await expect(turns.together(failing)).rejects.toBe(broken);
  expect(undone).toEqual([null, broken, broken]);
});

test("vital turns go first, and leave room for a quarter of the others in each commit", async () => {
  const { turns } = queueThatCounts();
  const order: string[] = [];
  const queue = (name: string, isVital: boolean) =>
    Array.from({ length: 300 }, () => turns.run(() => void order.push(name), isVital));
  await Promise.all(turns.together(() => [...queue("other", false), ...queue("vital", true)]));
  const parts = order.flatMap((name, index) => (name === order[index - 1] ? [] : [[name, index]]));
  expect(parts).toEqual([
    ["vital", 0],
    ["other", 192],
    ["vital", 256],
    ["other", 364],
  ]);
});

test("whoever waits for a turn is answered although what it leaves to do fails", async () => {
  const storage = { transactionSync: (work: () => unknown) => work() } as unknown as TenantStorage;
  const tell = () => {
    throw new Error("no effects");
  };
  const turns = new TurnQueue(storage, { close: () => undefined, tell, undo: () => undefined });
  let answer: Promise<number> = Promise.resolve(0);
  const together = () =>
    turns.together(() => {
      answer = turns.run(() => 7);
    });
  expect(together).toThrow("no effects");
  expect(await answer).toBe(7);
});

test("a turn for which the platform has no timer is refused, and stops none after it", async () => {
  const { turn } = queueThatCounts();
  const timers = vi.spyOn(globalThis, "setTimeout").mockImplementationOnce(() => {
    throw new Error("too many timers");
  });
  await expect(turn()).rejects.toThrow("too many timers");
  timers.mockRestore();
  expect(await turn()).toBe(1);
});
