// How the edge in Node shares one machine among tenants: turns for heavy work, and groups of calls that vital calls
// never wait for.

import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { GroupedCall } from "../../../durable-objects/calls/grouped-calls.ts";
import { CallGroup } from "../../../self-host/edge/call-group.ts";
import { FairTurns } from "../../../self-host/edge/turns/fair-turns.ts";

describe("a tenant's heavy work", () => {
  /** How many of `count` heavy requests have begun. Those that still wait when the test is over are refused later. */
  const begin = (turns: FairTurns, tenant: string, count: number) => {
    const ends: (() => void)[] = [];
    const refused = (): void => undefined;
    for (let index = 0; index < count; index += 1)
      void turns.take(tenant, "heavy")?.then((end) => ends.push(end), refused);
    return ends;
  };

  test("alone is done side by side", async () => {
    const ends = begin(new FairTurns(), "a", 6);
    await pause(0);
    expect(ends.length).toBe(6);
  });

  test("beside another tenant is done one at a time, and leaves twice its time to the other", async () => {
    let nowAt = 0;
    const turns = new FairTurns(() => nowAt);
    turns.take("b", "usual");
    const ends = begin(turns, "a", 3);
    await pause(0);
    expect(ends.length).toBe(1);
    nowAt = 300;
    ends[0]?.();
    await pause(0);
    expect(ends.length).toBe(1);
    nowAt = 405;
    await expect.poll(() => ends.length).toBe(2);
    nowAt = 425;
    ends[1]?.();
    turns.take("b", "usual");
    nowAt = 459;
    await pause(5);
    expect(ends.length).toBe(2);
    nowAt = 470;
    await expect.poll(() => ends.length).toBe(3);
  });

  test("begins at once where it left time to the other before, until that is used up", async () => {
    let nowAt = 0;
    const turns = new FairTurns(() => nowAt);
    /** How many of 40 ms begin at once, each when the one before it has ended. */
    const begunAtOnce = async (): Promise<number> => {
      for (let begun = 0; ; begun += 1) {
        turns.take("b", "usual");
        const ends = begin(turns, "a", 1);
        await pause(0);
        if (ends.length === 0) return begun;
        nowAt += 40;
        ends[0]?.();
      }
    };
    expect(await begunAtOnce()).toBe(7);
  });

  test("goes on at once when nobody else has asked for a second", async () => {
    let nowAt = 0;
    const turns = new FairTurns(() => nowAt);
    turns.take("b", "usual");
    const ends = begin(turns, "a", 2);
    await pause(0);
    nowAt = 1_500;
    ends[0]?.();
    await pause(0);
    expect(ends.length).toBe(2);
  });

  test("leaves no time to another that has not asked for a second", async () => {
    let nowAt = 0;
    const turns = new FairTurns(() => nowAt);
    turns.take("b", "usual");
    const ends = begin(turns, "a", 1);
    await pause(0);
    nowAt = 900;
    ends[0]?.();
    nowAt = 1_001;
    const next = begin(turns, "a", 6);
    await pause(0);
    expect(next.length).toBe(6);
  });

  test("that has waited for ten seconds is refused with 429", async () => {
    let nowAt = 0;
    const turns = new FairTurns(() => nowAt);
    turns.take("b", "usual");
    const first = await turns.take("a", "heavy");
    const second = turns.take("a", "heavy");
    nowAt = 10_000;
    first?.();
    await expect(second).rejects.toMatchObject({ refusal: { code: "rate_limited" } });
  });

  test("is refused then, even if what runs before it never ends", async () => {
    vi.useFakeTimers();
    try {
      const turns = new FairTurns(() => Date.now());
      begin(turns, "a", 8);
      const refused = expect(turns.take("a", "heavy")).rejects.toMatchObject({ refusal: { code: "rate_limited" } });
      await vi.advanceTimersByTimeAsync(10_000);
      await refused;
    } finally {
      vi.useRealTimers();
    }
  });

  test("keeps no other kind of request waiting", async () => {
    const turns = new FairTurns();
    turns.take("b", "usual");
    begin(turns, "a", 5);
    expect(turns.take("a", "usual")).toBe(null);
    expect(turns.take("a", "vital")).toBe(null);
  });
});

describe("a tenant's uploads", () => {
  const store = (turns: FairTurns, count: number): (() => void)[] => {
    const ends: (() => void)[] = [];
    for (let index = 0; index < count; index += 1) void turns.take("a", "storing")?.then((end) => ends.push(end));
    return ends;
  };

  test("are two at a time beside another tenant, and many alone", async () => {
    const [alone, beside] = [new FairTurns(() => 0), new FairTurns(() => 0)];
    beside.take("b", "usual");
    const [many, few] = [store(alone, 70), store(beside, 6)];
    await pause(0);
    expect([many.length, few.length]).toEqual([64, 2]);
    few[0]?.();
    few[0]?.();
    await pause(0);
    expect(few.length).toBe(3);
  });

  test("that last keep no other waiting", async () => {
    vi.useFakeTimers();
    try {
      const turns = new FairTurns(() => 0);
      turns.take("b", "usual");
      const begun = store(turns, 6);
      await vi.advanceTimersByTimeAsync(0);
      expect(begun.length).toBe(2);
      await vi.advanceTimersByTimeAsync(100);
      expect(begun.length).toBe(6);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("the openings of a tenant's streams", () => {
  const open = (turns: FairTurns, tenant: string, count: number): (() => void)[] => {
    const ends: (() => void)[] = [];
    for (let index = 0; index < count; index += 1) void turns.take(tenant, "opening")?.then((end) => ends.push(end));
    return ends;
  };

  test("are four at a time beside another tenant, without a gap", async () => {
    const turns = new FairTurns(() => 0);
    turns.take("b", "usual");
    const ends = open(turns, "a", 6);
    await pause(0);
    expect(ends.length).toBe(4);
    ends[0]?.();
    await pause(0);
    expect(ends.length).toBe(5);
  });

  test("alone are sixty-four at a time, and wait for no heavy work", async () => {
    const turns = new FairTurns(() => 0);
    for (let heavy = 0; heavy < 9; heavy += 1) void turns.take("a", "heavy");
    const ends = open(turns, "a", 70);
    await pause(0);
    expect(ends.length).toBe(64);
  });
});

describe("groups of calls", () => {
  const call = (name: GroupedCall["name"], request: unknown = null): GroupedCall => ({
    credential: { kind: "key", id: "k", hash: "h" },
    name,
    request,
  });

  /** A group has room for one of these, not for two. */
  const large = "x".repeat(150_000);

  /** Groups as they are sent; each is answered when the test says so. */
  const line = () => {
    const sent: { names: string[]; answer: () => void }[] = [];
    const group = new CallGroup(
      (text) =>
        new Promise((resolve) => {
          const calls = JSON.parse(text) as GroupedCall[];
          sent.push({
            names: calls.map(({ name }) => name),
            answer: () => resolve(calls.map(({ name }) => name)),
          });
        }),
      () => undefined,
    );
    return { sent, group };
  };

  test("what is vital goes first with the next group", async () => {
    const { sent, group } = line();
    void group.add(call("createJob"));
    await expect.poll(() => sent.length).toBe(1);
    void group.add(call("createJobs"));
    void group.add(call("activateKillswitch"));
    sent[0]?.answer();
    await expect.poll(() => sent.length).toBe(2);
    expect(sent.map(({ names }) => names)).toEqual([["createJob"], ["activateKillswitch", "createJobs"]]);
    sent[1]?.answer();
  });

  test("what is vital goes beside a group that takes long, and the rest goes on after both", async () => {
    const { sent, group } = line();
    void group.add(call("createJobs"));
    await expect.poll(() => sent.length).toBe(1);
    const late = group.add(call("createJob"));
    const stop = group.add(call("activateKillswitch"));
    await expect.poll(() => sent.length).toBe(2);
    expect(sent.map(({ names }) => names)).toEqual([["createJobs"], ["activateKillswitch"]]);
    sent[1]?.answer();
    expect(await stop).toBe("activateKillswitch");
    sent[0]?.answer();
    await expect.poll(() => sent.length).toBe(3);
    sent[2]?.answer();
    expect(await late).toBe("createJob");
  });

  test("what arrives while only the message beside is under way goes when that has its answer", async () => {
    const { sent, group } = line();
    void group.add(call("createJobs"));
    await expect.poll(() => sent.length).toBe(1);
    void group.add(call("activateKillswitch"));
    await expect.poll(() => sent.length).toBe(2);
    sent[0]?.answer();
    await pause(0);
    const late = group.add(call("createJob"));
    sent[1]?.answer();
    await expect.poll(() => sent.length).toBe(3);
    sent[2]?.answer();
    expect(await late).toBe("createJob");
  });

  test("what is vital and large leaves no place beside it in its group", async () => {
    const { sent, group } = line();
    void group.add(call("completeJob", large));
    void group.add(call("createJob", large));
    await expect.poll(() => sent.length).toBe(1);
    expect(sent.map(({ names }) => names)).toEqual([["completeJob"]]);
    sent[0]?.answer();
    await expect.poll(() => sent.length).toBe(2);
    expect(sent.map(({ names }) => names)).toEqual([["completeJob"], ["createJob"]]);
    sent[1]?.answer();
  });

  test("large calls go one by one", async () => {
    const { sent, group } = line();
    for (const request of [large, large, large]) void group.add(call("createJob", request));
    for (let index = 0; index < 3; index += 1) {
      await expect.poll(() => sent.length).toBe(index + 1);
      expect(sent[index]?.names.length).toBe(1);
      sent[index]?.answer();
    }
  });
});

describe("a tenant's reads of jobs, which may have megabytes", () => {
  test.each([
    ["alone", null, 16],
    ["beside another tenant", "b", 2],
  ])("%s are done few at a time", async (_, other, count) => {
    const turns = new FairTurns(() => 0);
    if (other !== null) turns.take(other, "usual");
    const begun: (() => void)[] = [];
    for (let index = 0; index < 30; index += 1) void turns.take("a", "reading")?.then((end) => begun.push(end));
    await pause(0);
    expect(begun.length).toBe(count);
    begun[0]?.();
    await pause(0);
    expect(begun.length).toBe(count + 1);
  });
});

describe("a step that keeps the thread", () => {
  test("beside another tenant leaves three times as long to the others, unless it was short", async () => {
    let nowAt = 0;
    const turns = new FairTurns(() => nowAt);
    turns.take("b", "usual");
    const begun: number[] = [];
    const step = (tookMs: number): Promise<void> =>
      turns.takeStep("a").then(() => {
        begun.push(nowAt);
        nowAt += tookMs;
      });
    const steps = [step(1), step(20), step(20)];
    await expect.poll(() => begun.length).toBe(2);
    expect(begun).toEqual([0, 1]);
    await pause(5);
    expect(begun).toHaveLength(2);
    nowAt = 90;
    await Promise.all(steps);
    expect(begun).toEqual([0, 1, 90]);
  });
});

describe("what a tenant's sockets say", () => {
  test("takes turns beside another tenant alone", async () => {
    const turns = new FairTurns();
    expect(turns.take("a", "telling")).toBeNull();
    turns.take("b", "usual");
    const end = await turns.take("a", "telling");
    const next = turns.take("a", "telling");
    expect(await Promise.race([next, pause(5)])).toBeUndefined();
    end?.();
    (await next)?.();
  });
});
