// Bounds of what a tenant's object keeps in memory alone.

import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import {
  MAX_CHARS_UNDER_WAY,
  MAX_MESSAGES,
  MessagesUnderWay,
} from "../../durable-objects/sockets/messages-under-way.ts";
import type { TenantSocket } from "../../durable-objects/sockets/tenant-socket.ts";
import { Recent } from "../../durable-objects/store/recent.ts";
import { Affinity, MAX_CONVERSATIONS } from "../../durable-objects/turn/memory/affinity.ts";
import { LateCosts, MAX_LATE_COSTS } from "../../durable-objects/turn/memory/late-costs.ts";
import { pendingJob } from "../domain/job/sample-jobs.ts";

describe("the workers of conversations", () => {
  it("keeps ten thousand; one more makes the one that was used longest ago go elsewhere", () => {
    const affinity = new Affinity();
    for (let at = 0; at < MAX_CONVERSATIONS; at += 1) affinity.note(`s${at}`, "w", at);
    affinity.note("s0", "w", MAX_CONVERSATIONS);
    affinity.note("one more", "w", MAX_CONVERSATIONS);
    const workers = ["s0", "s1", "s2", "one more"].map((session) => affinity.workerOf(session, MAX_CONVERSATIONS));
    expect(workers).toEqual(["w", null, "w", "w"]);
  });
});

describe("costs of jobs that have left, told since", () => {
  const told = (job: number, lease = 1) => ({
    ...{ jobId: `job-${job}`, lease, nanoUsd: 5, source: "reported", price: null },
    ...{ inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 },
  });
  const costOf = (costs: LateCosts, job: number) =>
    costs.shownOn({ ...pendingJob(), id: `job-${job}`, lease: 1, costNanoUsd: 2 }).costNanoUsd;

  it("are a thousand; one more makes the one that was told first go", () => {
    const costs = new LateCosts(() => []);
    for (let job = 0; job < MAX_LATE_COSTS; job += 1) costs.note(told(job));
    costs.note(told(0));
    costs.note(told(MAX_LATE_COSTS));
    expect([0, 1, 2, MAX_LATE_COSTS].map((job) => costOf(costs, job))).toEqual([5, 2, 5, 5]);
  });

  it("are also those that were stored before the object's memory was lost", () => {
    const costs = new LateCosts(() => [told(0), { ...told(1), nanoUsd: 3 }]);
    costs.note(told(1));
    expect([0, 1, 2].map((job) => costOf(costs, job))).toEqual([5, 5, 2]);
  });

  it("are those of one attempt", () => {
    const costs = new LateCosts(() => []);
    costs.note(told(0, 2));
    expect(costOf(costs, 0)).toBe(2);
  });
});

describe("recent records", () => {
  it("are as many as their table says: one more makes the oldest go", () => {
    const recent = new Recent<number>(2);
    for (const at of [1, 2, 3]) recent.keep(String(at), at);
    expect([...recent.values()]).toEqual([2, 3]);
  });

  it("leave in the order in which they came, also when some were dropped or all forgotten before", () => {
    const recent = new Recent<number>(3);
    for (const at of [1, 2, 3]) recent.keep(String(at), at);
    recent.drop("1");
    for (const at of [4, 5, 1, 6]) recent.keep(String(at), at);
    expect([...recent.values()]).toEqual([5, 1, 6]);
    recent.clear();
    for (let at = 1; at <= 100; at += 1) recent.keep(String(at), at);
    expect([...recent.values()]).toEqual([98, 99, 100]);
  });
});

describe("what has left", () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage: () => void = runInNewContext("gc");
  const aliveOf = async (left: readonly WeakRef<object>[]): Promise<number> => {
    await setImmediate();
    collectGarbage();
    return left.filter((one) => one.deref() !== undefined).length;
  };
  const LEFT = 5_000;

  it("is not kept by recent records, also if they are never as many as may be", async () => {
    const recent = new Recent<object>(100);
    const left = Array.from({ length: LEFT }, (_, at) => {
      const kept = {};
      recent.keep(String(at), kept);
      recent.drop(String(at - 50));
      return new WeakRef(kept);
    });
    expect(await aliveOf(left)).toBeLessThan(200);
  });
});

describe("a socket", () => {
  const socket = {} as TenantSocket;

  it("has 4,000 messages under way and no more, until one is answered", () => {
    const underWay = new MessagesUnderWay();
    const answered = underWay.enter(socket, MAX_MESSAGES, 1);
    expect(underWay.enter(socket, 1, 1)).toBeNull();
    answered?.();
    expect(underWay.enter(socket, 1, 1)).not.toBeNull();
  });

  it("has 16 MiB of messages under way and no more; another socket has its own", () => {
    const underWay = new MessagesUnderWay();
    underWay.enter(socket, 1, MAX_CHARS_UNDER_WAY);
    expect(underWay.enter(socket, 1, 1)).toBeNull();
    expect(underWay.enter({} as TenantSocket, 1, 1)).not.toBeNull();
  });
});
