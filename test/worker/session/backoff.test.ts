import { describe, expect, test } from "vitest";
import { backoffMs } from "../../../worker/session/backoff.ts";
import { freshWith } from "../../support/fresh-modules.ts";

describe("the wait before another try", () => {
  test("lies anywhere under a ceiling that doubles, to an end", () => {
    expect(backoffMs(0, 0)).toBe(0);
    expect(backoffMs(0, 0.999)).toBeLessThanOrEqual(500);
    expect(backoffMs(3, 0.5)).toBe(2000);
    expect(backoffMs(1_000, 0.999)).toBeLessThanOrEqual(30_000);
  });

  test("grows with each session that ends at once, and is short again behind one that lasted", async () => {
    const waits: number[] = [];
    const timers = { setTimeout: async (ms: number) => void waits.push(ms) };
    const load = () => import("../../../worker/connection.ts");
    const { keepConnected } = await freshWith("node:timers/promises", () => timers, load);
    const stop = new AbortController();
    const lasted = [0, 0, 10_000, 0];
    let nowMs = 0;
    const lost = async () => {
      if (lasted.length === 0) stop.abort();
      nowMs += lasted.shift() ?? 0;
      return { ok: false, kind: "unreachable", reason: "away" } as const;
    };
    const loop = { attach: () => {}, detach: () => {}, receive: () => {}, freeSlots: () => 0 };
    const options = { loop, openSocket: lost, openHttp: lost, log: () => {}, random: () => 1, nowMs: () => nowMs };
    expect(await keepConnected({ ...options, stop: stop.signal })).toBeNull();
    expect(waits).toEqual([1000, 2000, 500, 1000]);
  });
});
