// A job's time as spans, and the part of it that the waterfall shows.

import { describe, expect, it } from "vitest";
import type { AttemptResource } from "../../../contract/jobs/insight.ts";
import type { JobEventResource, JobResource } from "../../../contract/jobs/job.ts";
import { lastWait, msIn, type Span, timed } from "../../../dashboard/jobs/story/attempt-spans.ts";
import { ownSpans } from "../../../dashboard/jobs/story/own-spans.ts";
import { closer, moved, placeIn, ticksOf } from "../../../dashboard/jobs/story/waterfall-window.ts";

const at = (seconds: number): string => new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString();
const ms = (seconds: number): number => Date.parse(at(seconds));

const job = (given: Partial<JobResource> = {}): JobResource =>
  ({ created_at: at(0), run_at: null, status: "running", finished_at: null, ...given }) as JobResource;

const attempt = (given: Partial<AttemptResource>): AttemptResource =>
  ({
    lease: 1,
    assigned_at: at(1),
    started_at: at(2),
    first_token_at: null,
    finished_at: null,
    ...given,
  }) as AttemptResource;

const seconds = (spans: readonly Span[] = []): [string, number, number][] =>
  spans.map(({ phase, from, to }) => [phase, (from - ms(0)) / 1000, (to - ms(0)) / 1000]);

describe("a job's time", () => {
  it("is the queue, the assignment, the wait for the first token, and the stream", () => {
    const [one] = timed(job(), [attempt({ first_token_at: at(5), finished_at: at(9) })], [], ms(20));
    expect(seconds(one?.spans)).toEqual([
      ["queue", 0, 1],
      ["assigned", 1, 2],
      ["first_token", 2, 5],
      ["stream", 5, 9],
    ]);
    expect(msIn(one?.spans ?? [], "first_token", "stream")).toBe(7000);
    expect(msIn(one?.spans ?? [], "backoff")).toBeNull();
  });

  it("goes on until now while it runs, and without a first token it is one run", () => {
    const [one] = timed(job(), [attempt({})], [], ms(20));
    expect(seconds(one?.spans).at(-1)).toEqual(["running", 2, 20]);
  });

  it("holds a job until it may run, and again for the back-off that a failure told", () => {
    const failed: JobEventResource = {
      type: "job.attempt_failed",
      at: at(11),
      lease: 1,
      worker: "w",
      detail: { delay_ms: 4000 },
    };
    const attempts = [
      attempt({ assigned_at: at(10), started_at: at(10), finished_at: at(11) }),
      attempt({ lease: 2, assigned_at: at(17), started_at: at(17) }),
    ];
    const [first, second] = timed(job({ run_at: at(8) }), attempts, [failed], ms(18));
    expect(seconds(first?.spans).slice(0, 2)).toEqual([
      ["held", 0, 8],
      ["queue", 8, 10],
    ]);
    expect(seconds(second?.spans).slice(0, 2)).toEqual([
      ["backoff", 11, 15],
      ["queue", 15, 17],
    ]);
    const waits = lastWait(job({ status: "pending" }), attempts.slice(0, 1), [failed], ms(13));
    expect(seconds(waits)).toEqual([
      ["backoff", 11, 13],
      ["queue", 13, 13],
    ]);
    expect(lastWait(job({ status: "failed" }), attempts.slice(0, 1), [failed], ms(13))).toEqual([]);
  });

  it("has the steps that the worker itself told, and nothing else of its progress", () => {
    const spans = [
      { name: "load", started_at: at(1), finished_at: at(2) },
      { name: "run", started_at: at(2) },
      { name: 7 },
    ];
    expect(ownSpans({ spans }, ms(5))).toEqual([
      { name: "load", from: ms(1), to: ms(2) },
      { name: "run", from: ms(2), to: ms(5) },
    ]);
    for (const progress of [null, "half", { spans: "no" }, { done: 3 }]) expect(ownSpans(progress, 0)).toEqual([]);
  });
});

describe("the shown part", () => {
  const whole = { from: 0, to: 100_000 };
  const lease = { from: 90_000, to: 92_000 };

  it("is first what the attempt took without the wait before it, then the middle of that", () => {
    const first = closer(null, whole, lease);
    expect(first).toEqual({ from: 89_900, to: 92_100 });
    expect(closer(first, whole, lease)).toEqual({ from: 90_450, to: 91_550 });
    expect(closer(null, whole, { from: 0, to: 95_000 })).toEqual({ from: 25_000, to: 75_000 });
  });

  it("never leaves the whole, however often it moves or narrows", () => {
    let shown = closer(null, whole, lease);
    for (let step = 0; step < 100; step += 1) shown = moved(shown, whole, 1);
    expect(shown.to).toBe(100_000);
    for (let step = 0; step < 100; step += 1) shown = moved(shown, whole, -1);
    expect(shown.from).toBeGreaterThanOrEqual(0);
    for (let step = 0; step < 100; step += 1) shown = closer(shown, whole, lease);
    expect(shown.to - shown.from).toBe(4);
  });

  it("places a span by what of it is shown, and leaves out what is not", () => {
    const shown = { from: 100, to: 200 };
    expect(placeIn(shown, { from: 50, to: 150 })).toEqual({ at: 0, width: 0.5 });
    expect(placeIn(shown, { from: 150, to: 900 })).toEqual({ at: 0.5, width: 0.5 });
    expect(placeIn(shown, { from: 300, to: 400 })).toBeNull();
    expect(ticksOf(shown, { from: 0, to: 900 })).toEqual(
      [100, 120, 140, 160, 180, 200].map((ms, index) => ({ ms, at: index / 5 })),
    );
  });

  it.each([
    [{ from: 1_037, to: 6_211 }, [2_000, 4_000, 6_000]],
    [{ from: 0.4, to: 4.4 }, [1, 2, 3, 4]],
    [{ from: 0, to: 95_000 }, [0, 20_000, 40_000, 60_000, 80_000]],
    [{ from: 0, to: 3 * 86_400_000 }, [0, 1, 2, 3].map((day) => day * 86_400_000)],
  ])("has round instants on its axis for %j", (shown, expected) => {
    const ticks = ticksOf({ from: shown.from + 77, to: shown.to + 77 }, { from: 77, to: 1e9 });
    expect(ticks.map(({ ms }) => ms)).toEqual(expected);
    for (const { ms, at } of ticks) expect(at).toBeCloseTo((ms - shown.from) / (shown.to - shown.from));
  });
});
