// Swapping models without thrashing: what waits for a loaded model goes first, for a while.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { explain, whyWaiting } from "../../../domain/routing/explanation.ts";
import { firstRefusal } from "../../../domain/routing/filters.ts";
import type { SwapRules, WaitingGroup } from "../../../domain/routing/swapping.ts";
import type { Priority } from "../../../domain/words/requirements.ts";
import { fleetOf, policy, request, type Spec, withLoaded } from "../fleet/sample-fleet.ts";
import { NOON } from "../job/sample-jobs.ts";

const WAIT_MS = 30_000;
const GPU: Spec = { instance: "gpu-1", machine: withLoaded(["gemma"], 1) };

interface Waits {
  readonly model: string;
  readonly count?: number;
  readonly ageMs?: number;
  readonly priority?: Priority;
  readonly tags?: readonly string[];
}

const groupOf = ({ model, count = 1, ageMs = 0, priority = "normal", tags = [] }: Waits): WaitingGroup => ({
  requirements: { ...request({ model, tags }) },
  count,
  oldestAt: () => NOON - ageMs,
  priority: () => priority,
});

const rulesFor = (waits: readonly Waits[]): SwapRules => ({
  waitMs: WAIT_MS,
  waiting: () =>
    new Map(
      [...Map.groupBy(waits, ({ model }) => model)].map(([model, of]) => [model, { model, groups: of.map(groupOf) }]),
    ),
});

/** Why a job for qwen3 waits; the worker has a free place unless the spec says otherwise. */
const reason = (waits: readonly Waits[], more: Partial<Spec> = {}, priority: Priority = "normal") =>
  whyWaiting(
    fleetOf([{ ...GPU, ...more }]),
    request({ model: "qwen3", urgency: priority, waitingSinceAt: NOON }),
    policy({ swapRules: rulesFor(waits) }),
  );

describe("a job for a model that is not loaded", () => {
  const GEMMA: Waits = { model: "gemma", count: 4 };

  it("waits while jobs for the loaded one wait, and says how many and how long, also where no place is free", () => {
    const words = "waits for qwen3 to be loaded on gpu-1: 4 jobs for gemma before it, at most 21 s more";
    const own = { model: "qwen3", ageMs: 9_000 };
    expect(reason([GEMMA, own])).toBe(words);
    expect(reason([GEMMA, own], { load: 1 })).toBe(words);
    expect(reason([{ model: "gemma" }, own])).toContain("1 job for gemma before it");
    const fleet = fleetOf([GPU]);
    const asked = request({ model: "qwen3", waitingSinceAt: NOON });
    const rules = policy({ swapRules: rulesFor([GEMMA, own]) });
    expect(explain(fleet, asked, rules).workers[0]?.reasons).toEqual([words]);
    expect(firstRefusal(fleet.at(0), asked, rules, fleet)).toBe(words);
  });

  it.each([
    ["nothing waits for the loaded one", [], {}],
    ["the oldest of its own has waited its time", [GEMMA, { model: "qwen3", ageMs: WAIT_MS }], {}],
    ["its own priority is higher", [GEMMA, { model: "qwen3", priority: "high" }], {}],
    ["the worker has room for it", [GEMMA], { machine: withLoaded(["gemma"], 2) }],
    ["the worker does not say how many it holds", [GEMMA], { machine: withLoaded(["gemma"]) }],
    ["the worker does not say what is loaded", [GEMMA], { machine: null }],
    ["it is loaded, too", [GEMMA], { machine: withLoaded(["gemma", "qwen3:latest"], 2) }],
    ["this worker may not have what waits", [{ ...GEMMA, tags: ["eu"] }], {}],
  ] as const)("does not wait where %s", (_why, waits, more) => {
    expect(reason(waits, more)).toBeNull();
  });

  it("does not wait behind jobs of a lower priority, only behind those of its own or a higher one", () => {
    expect(reason([GEMMA], {}, "high")).toBeNull();
    expect(reason([{ ...GEMMA, priority: "high" }], {}, "high")).toContain("4 jobs for gemma");
  });

  it("goes to another worker that needs no swap", () => {
    const fleet = fleetOf([GPU, { instance: "gpu-2", machine: withLoaded(["phi"], 2) }]);
    const asked = request({ model: "qwen3", waitingSinceAt: NOON });
    expect(explain(fleet, asked, policy({ swapRules: rulesFor([GEMMA]) })).selected).toBe("gpu-2");
  });
});

describe("no model starves", () => {
  it("a worker that only knows these rules begins every job within its wait and the jobs ahead of it (property)", () => {
    const jobs = fc.array(fc.record({ model: fc.constantFrom("a", "b", "c"), atMs: fc.nat({ max: 120_000 }) }), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(jobs, fc.integer({ min: 1_000, max: 20_000 }), (given, tookMs) => {
        let waiting = given.map((one, index) => ({ ...one, index })).sort((x, y) => x.atMs - y.atMs);
        let [nowMs, loaded, swaps] = [0, "a", 0];
        while (waiting.length > 0) {
          const here = waiting.filter(({ atMs }) => atMs <= nowMs);
          const asWaits = here.map(({ model, atMs }) => ({ model, ageMs: nowMs - atMs }));
          const rules = policy({ swapRules: rulesFor(asWaits) });
          const fleet = fleetOf([{ instance: "w", machine: withLoaded([loaded], 1) }]);
          const next = here.find(({ model }) => firstRefusal(fleet.at(0), request({ model }), rules, fleet) === null);
          // While some wait, somebody may go: the worker never idles beside work.
          expect(next === undefined).toBe(here.length === 0);
          if (next === undefined) {
            nowMs = Math.min(...waiting.map(({ atMs }) => atMs));
            continue;
          }
          const aheadOfIt = given.filter(({ atMs }) => atMs <= next.atMs + WAIT_MS).length;
          expect(nowMs - next.atMs).toBeLessThanOrEqual(WAIT_MS + aheadOfIt * tookMs);
          swaps += Number(next.model !== loaded);
          loaded = next.model;
          waiting = waiting.filter((one) => one !== next);
          nowMs += tookMs;
        }
        expect(swaps).toBeLessThanOrEqual(given.length);
      }),
    );
  });
});
