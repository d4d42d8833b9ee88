// Group commit: which turns share a commit.

import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { TenantStorage } from "../../durable-objects/store/sql.ts";
import { TurnQueue } from "../../durable-objects/turns.ts";

const queueThatCounts = () => {
  const commits: number[] = [];
  let closed = 0;
  const transactionSync = (work: () => unknown): unknown => {
    commits.push(0);
    return work();
  };
  const storage = { transactionSync } as unknown as TenantStorage;
  const hooks = { close: () => (closed += 1), tell: () => undefined, undo: () => undefined };
  const turns = new TurnQueue(storage, hooks);
  const turn = (): Promise<number> =>
    turns.run(() => {
      commits[commits.length - 1] = (commits.at(-1) ?? 0) + 1;
      return commits.length;
    });
  return { turns, turn, commits, closedCount: () => closed };
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
  await pause(5);
  expect(commits).toEqual([2]);
  expect(closedCount()).toBe(1);
});

test("more turns than a commit takes follow in the next ones", async () => {
  const { turns, turn, commits } = queueThatCounts();
  const all = turns.together(() => Array.from({ length: 600 }, turn));
  expect(commits).toEqual([256]);
  await Promise.all(all);
  expect(commits).toEqual([256, 256, 88]);
});
