import { execFileSync } from "node:child_process";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Runtime } from "../../../worker/calls/runtime.ts";
import { type Gate, hoursGate } from "../../../worker/openings/gate.ts";
import { readNvidia, readRocm } from "../../../worker/openings/gpu-use.ts";
import { IdleGate, parseIdleRule } from "../../../worker/openings/idle-gate.ts";
import { openDoors } from "../../../worker/openings/open-doors.ts";
import { OPENING_FLAGS } from "../../../worker/openings/opening-flags.ts";
import { RuntimeWatch } from "../../../worker/runtime-watch.ts";
import { readSettings } from "../../../worker/settings.ts";
import { createWorker, settle } from "../loop-fixture.ts";

const MINUTE = 60_000;
const RULE = { belowPercent: 20, forMs: 5 * MINUTE };

describe("a worker's own hours", () => {
  test("close it with the words that the coordinator would use, and say when that ends", () => {
    let nowAt = Date.parse("2026-01-14T12:00:00Z");
    const gate = hoursGate("Mon-Fri 19:00-07:00", "Europe/Berlin", () => nowAt);
    expect(gate.closed()).toBe("outside its hours until 19:00 Europe/Berlin");
    expect(gate.changesInMs()).toBe(6 * 60 * MINUTE);
    nowAt += gate.changesInMs();
    expect(gate.closed()).toBeNull();
    nowAt += gate.changesInMs();
    expect(gate.closed()).toBe("outside its hours until 19:00 Europe/Berlin");
  });

  test("close it when the machine's clock is set back to before them", () => {
    let nowAt = Date.parse("2026-01-14T18:05:00Z");
    const gate = hoursGate("Mon-Fri 19:00-07:00", "Europe/Berlin", () => nowAt);
    expect(gate.closed()).toBeNull();
    nowAt -= 60 * MINUTE;
    expect(gate.closed()).toBe("outside its hours until 19:00 Europe/Berlin");
    expect(gate.changesInMs()).toBe(55 * MINUTE);
  });

  test("keep what its runtime offers, and are looked at again when they change", async () => {
    let why: string | null = "outside its hours until 19:00 UTC";
    const gate: Gate = { closed: () => why, changesInMs: () => Number.POSITIVE_INFINITY };
    const runtime = {
      name: "fake",
      address: "http://127.0.0.1:1",
      probeEveryMs: 0,
      probe: async () => ({ unavailable: null, apis: ["messages"] as const, models: ["m1"] }),
    } as unknown as Runtime;
    const told: string[] = [];
    const watch = new RuntimeWatch({ runtime, gate, log: (line) => void told.push(line) });
    await watch.look();
    expect(watch.state).toEqual({ unavailable: why, isClosed: true, apis: ["messages"], models: ["m1"] });
    why = null;
    await watch.look();
    expect(watch.state).toEqual({ unavailable: null, apis: ["messages"], models: ["m1"] });
    expect(told).toEqual(["taking no jobs: outside its hours until 19:00 UTC", "taking jobs again"]);
    watch.stop();
  });
});

describe("a worker that closes while a job runs", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const closed = async (drainsNow: boolean, isLooking: boolean) => {
    let why: string | null = null;
    const gate: Gate = { closed: () => why, isLooking: () => isLooking, changesInMs: () => Number.POSITIVE_INFINITY };
    const worker = createWorker(1, "socket", true, { gate, drainsNow });
    worker.assign("a", 1, { stream: true });
    await settle();
    why = "outside its hours until 19:00 UTC";
    await worker.watch.look();
    await settle();
    worker.watch.stop();
    return worker;
  };

  test("gives it back with --drain now: its run stops, and its stream is another worker's", async () => {
    const { loop, runs, session, streams } = await closed(true, false);
    expect(runs[0]?.options.signal.aborted).toBe(true);
    expect(session.of("job.released")).toMatchObject([{ job_id: "a", reason: "outside its hours until 19:00 UTC" }]);
    expect(streams.dropped).toEqual(["a 1"]);
    expect(loop.freeSlots()).toBe(0);
  });

  test.each([
    ["without --drain now", false, false],
    ["if it closes only for a look at its machine", true, true],
  ])("finishes it %s", async (_, drainsNow, isLooking) => {
    const { runs, session } = await closed(drainsNow, isLooking);
    await runs[0]?.finish("done");
    expect(session.of("job.completed")).toMatchObject([{ job_id: "a" }]);
    expect(session.of("job.released")).toEqual([]);
  });
});

const idleDoors = (forMs: number, measure: () => Promise<number>) =>
  openDoors({ hours: null, idle: { belowPercent: 20, forMs }, drainsNow: false }, () => false, measure);

describe("a worker for an idle machine", () => {
  test("has a flag whose example goes through a shell as the help prints it", () => {
    const [, example = ""] = /--when-idle (.*)$/.exec(OPENING_FLAGS["when-idle"]) ?? [];
    const typed = execFileSync("sh", ["-c", `printf %s ${example}`], { encoding: "utf8" });
    expect(parseIdleRule(typed)).toEqual(RULE);
  });

  test("opens when the GPU was left alone for long enough, and closes when it is used", () => {
    let nowMs = 0;
    const gate = new IdleGate({ rule: RULE, isWorking: () => false, nowMs: () => nowMs });
    const later = (minutes: number, percent: number | null) => {
      nowMs += minutes * MINUTE;
      gate.measured(percent);
      return gate.closed();
    };
    const inUse = "its machine is in use: it waits until the GPU is below 20 % for 300 s";
    expect(later(0, 3)).toBe(inUse);
    expect(later(4, 19)).toBe(inUse);
    expect(later(1, 19)).toBeNull();
    expect(later(1, 20)).toBe(inUse);
    expect(later(1, 0)).toBe(inUse);
    expect(later(5, 0)).toBeNull();
    expect(later(1, null)).toBe(
      "neither nvidia-smi nor rocm-smi tells whether its machine is in use: it waits until the GPU is below 20 % for 300 s",
    );
  });

  test("does not take its own jobs for somebody else's", () => {
    let isWorking = false;
    const gate = new IdleGate({ rule: { ...RULE, forMs: 0 }, isWorking: () => isWorking, nowMs: () => 0 });
    gate.measured(0);
    isWorking = true;
    gate.measured(100);
    expect(gate.closed()).toBeNull();
    isWorking = false;
    gate.measured(100);
    expect(gate.closed()).not.toBeNull();
  });

  test("looks between jobs that follow each other without a gap, whose owner would never be noticed else", () => {
    let [nowMs, isWorking] = [0, false];
    const gate = new IdleGate({ rule: { ...RULE, forMs: 0 }, isWorking: () => isWorking, nowMs: () => nowMs });
    const later = (minutes: number, percent: number) => {
      nowMs += minutes * MINUTE;
      gate.measured(percent);
      return [gate.closed(), gate.isLooking()];
    };
    const looking = ["it lets its jobs end to see whether its machine is in use", true];
    expect(later(0, 0)).toEqual([null, false]);
    isWorking = true;
    expect([later(4, 100), later(1, 100), later(1, 100)]).toEqual([[null, false], looking, looking]);
    isWorking = false;
    expect(later(0, 0)).toEqual([null, false]);
    isWorking = true;
    expect([later(4, 100), later(1, 100)]).toEqual([[null, false], looking]);
    isWorking = false;
    expect(later(0, 100)).toEqual([expect.stringContaining("its machine is in use"), false]);
  });

  test("believes what it measures a moment after its own job only if it lasts", async () => {
    vi.useFakeTimers();
    let percent = 0;
    const doors = idleDoors(4_000, async () => percent);
    const closedAfter = async (ms: number, now: number) => {
      percent = now;
      await vi.advanceTimersByTimeAsync(ms);
      return doors.gate.closed();
    };
    try {
      doors.watch(() => {});
      expect([await closedAfter(4_000, 0), await closedAfter(1_000, 100), await closedAfter(3_000, 0)]).toEqual([
        null,
        null,
        null,
      ]);
      expect(await closedAfter(4_000, 100)).toContain("its machine is in use");
    } finally {
      doors.close();
      vi.useRealTimers();
    }
  });

  test("measures a few times a second at most, however short it waits", async () => {
    vi.useFakeTimers();
    let count = 0;
    const doors = idleDoors(0, async () => {
      count += 1;
      return 0;
    });
    try {
      doors.watch(() => {});
      await vi.advanceTimersByTimeAsync(1_000);
      expect(count).toBe(5);
    } finally {
      doors.close();
      vi.useRealTimers();
    }
  });

  test("reads what the tools print", () => {
    expect(readNvidia("7\n93\n")).toEqual([7, 93]);
    expect(readNvidia("7 %\r\n[N/A]\r\n")).toEqual([7]);
    expect(readNvidia("NVIDIA GeForce RTX 4090, 24564, 1203, 7\n")).toEqual([7]);
    expect(readRocm('{"card0": {"GPU use (%)": "7"}, "card1": {"GPU use (%)": "93"}}')).toEqual([7, 93]);
    expect(parseIdleRule("gpu<20%,5m")).toEqual(RULE);
    expect(parseIdleRule("GPU < 5% , 30s")).toEqual({ belowPercent: 5, forMs: 30_000 });
    for (const wrong of ["gpu<0%,5m", "gpu<101%,5m", "gpu>20%,5m", "gpu<20%", "cpu<20%,5m", ""]) {
      expect(parseIdleRule(wrong)).toBeNull();
    }
  });
});

test("the flags name what is wrong with them", () => {
  const env = { SERVICE_API_KEY: "k" };
  const read = readSettings(["--hours", "Mon 10:00-11:00", "--tz", "Europe/Berlin", "--drain", "now"], env);
  expect(read).toMatchObject({
    settings: {
      opening: { hours: { text: "Mon 10:00-11:00", timezone: "Europe/Berlin" }, idle: null, drainsNow: true },
    },
  });
  expect(readSettings(["--when-idle", "gpu<20%,5m"], env)).toMatchObject({
    settings: { opening: { hours: null, idle: RULE, drainsNow: false } },
  });
  expect(readSettings([], env)).toMatchObject({ settings: { opening: undefined } });
  const wrong = readSettings(["--hours", "night", "--tz", "Berlin", "--when-idle", "idle", "--drain", "later"], env);
  if (wrong.ok !== false) throw new Error("it was taken");
  expect(wrong.problems.map((problem) => problem.split(" ")[0])).toEqual([
    "--hours:",
    "--tz:",
    "--when-idle:",
    "--drain:",
  ]);
});
