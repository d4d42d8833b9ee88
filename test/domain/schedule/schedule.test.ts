import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { parseInterval } from "../../../domain/schedule/interval.ts";
import {
  createSchedule,
  type NewSchedule,
  patchSchedule,
  planRun,
  planRunNow,
  type Schedule,
  type SchedulePatch,
  storedTiming,
} from "../../../domain/schedule/schedule.ts";
import { dueRuns, nextDueAt, previewRuns, type Timing } from "../../../domain/schedule/timing.ts";

const at = (text: string): number => Date.parse(text);
const iso = (instant: number | null): string | null => (instant === null ? null : new Date(instant).toISOString());
const SECOND_MS = 1000;
const DAY_MS = 86_400_000;
const NOON = at("2026-11-21T12:00:00Z");
const QUIET = { openJob: false, killswitchLevel: 0 };

function scheduled(fields: Partial<NewSchedule>, nowAt = NOON): Schedule {
  const created = createSchedule({ name: "nightly", prompt: "Summarise the day", ...fields }, nowAt);
  if (!created.ok) throw new Error(created.error.detail);
  return created.value;
}

function edited(schedule: Schedule, patch: SchedulePatch, nowAt: number): Schedule {
  const result = patchSchedule(schedule, patch, nowAt);
  if (!result.ok) throw new Error(result.error.detail);
  return result.value;
}

describe("intervals", () => {
  test.each([
    ["1s", 1000],
    ["90s", 90_000],
    ["15m", 900_000],
    ["6h", 21_600_000],
    ["366d", 366 * DAY_MS],
  ])("%s is %d ms", (text, expected) => {
    expect(parseInterval(text)).toEqual({ ok: true, value: expected });
  });

  test.each([
    "0s",
    "",
    "15",
    "m",
    "1.5h",
    "-1s",
    "1 s",
    "1s\n",
    "1S",
    "1w",
    "٣s",
    "367d",
    "999999999d",
    "1e3s",
    "1h30m",
  ])("%j is refused", (text) => {
    expect(parseInterval(text)).toMatchObject({ ok: false, error: expect.stringContaining("interval must be") });
  });

  test("that are too long are told how long they may be, however many digits they have", () => {
    for (const text of ["367d", "31622401s", "9999999999s", `${"9".repeat(31)}h`])
      expect(parseInterval(text)).toEqual({ ok: false, error: 'interval must be at most "366d"' });
  });

  test("counts from when it was created, however late it runs", () => {
    let schedule = scheduled({ interval: "10s" });
    const ranFor: (string | null)[] = [];
    for (const lateMs of [0, 9_999, 3, 25_000]) {
      const plan = planRun(schedule, (schedule.nextRunAt ?? 0) + lateMs, QUIET);
      ranFor.push(iso(plan?.scheduledFor ?? null));
      schedule = plan?.schedule ?? schedule;
    }
    expect(ranFor.map((text) => text?.slice(17, 19))).toEqual(["10", "20", "30", "00"]);
    expect(((schedule.nextRunAt ?? 0) - NOON) % 10_000).toBe(0);
  });
});

describe("creating and editing", () => {
  test("a new schedule asks for what it was given, and for nothing else", () => {
    const asked = { provider: "p", model: "m", tier: "premium", input: { of: 1 }, priority: "high" } as const;
    expect(scheduled({ interval: "1m", ...asked })).toMatchObject(asked);
    const nothing = { provider: null, model: null, tier: null, input: null, priority: "normal", tags: [] };
    expect(scheduled({ interval: "1m" })).toMatchObject(nothing);
  });

  test("a run by hand is for now, and missed nothing", () => {
    expect(planRunNow(scheduled({ interval: "1m" }), NOON + 7, 0)).toMatchObject({ scheduledFor: NOON + 7, missed: 0 });
  });

  test("a new schedule is active, in UTC, and knows its next run", () => {
    expect(scheduled({ cron: "30 9 * * *" })).toMatchObject({
      status: "active",
      timezone: "UTC",
      overlap: "allow",
      priority: "normal",
      interval: null,
      lastRunAt: null,
      nextRunAt: at("2026-11-22T09:30:00Z"),
    });
  });

  test.each([
    [{}, "cron", "either cron or interval"],
    [{ cron: "* * * * *", interval: "1m" }, "interval", "not both"],
    [{ cron: "0 0 30 2 *" }, "cron", "never fires"],
    [{ interval: "0s" }, "interval", "at least"],
    [{ interval: "1m", timezone: "Mars/Olympus" }, "timezone", "IANA"],
  ])("%j is refused at its field", (fields, path, message) => {
    const created = createSchedule({ name: "x", prompt: "p", ...fields }, NOON);
    expect(created).toMatchObject({
      ok: false,
      error: { code: "invalid_request", errors: [{ path, message: expect.stringContaining(message) }] },
    });
  });

  test("a wrong cron and a wrong time zone are both named", () => {
    const created = createSchedule({ name: "x", prompt: "p", cron: "@daily", timezone: "Mars" }, NOON);
    expect(created.ok ? [] : created.error.errors.map(({ path }) => path)).toEqual(["cron", "timezone"]);
  });

  test("an edit of the prompt leaves the next run alone, an edit of the timing moves it at once", () => {
    const schedule = scheduled({ interval: "1h" });
    const later = NOON + 30 * 60 * SECOND_MS;
    expect(edited(schedule, { prompt: "Else" }, later)).toMatchObject({
      prompt: "Else",
      nextRunAt: schedule.nextRunAt,
    });
    expect(edited(schedule, { interval: "2m" }, later).nextRunAt).toBe(later + 120 * SECOND_MS);
    expect(edited(schedule, { cron: "0 0 * * *" }, later)).toMatchObject({
      interval: null,
      nextRunAt: at("2026-11-22T00:00Z"),
    });
    expect(edited(schedule, { cron: "0 0 * * *", timezone: "Asia/Kathmandu" }, later).nextRunAt).toBe(
      at("2026-11-21T18:15Z"),
    );
  });

  test("an edit that leaves no timing, or two, is refused", () => {
    const schedule = scheduled({ interval: "1h" });
    expect(patchSchedule(schedule, { interval: null }, NOON)).toMatchObject({ ok: false });
    expect(patchSchedule(schedule, { interval: "1m", cron: "* * * * *" }, NOON)).toMatchObject({ ok: false });
  });

  test("a paused schedule is never due, and resuming it counts from then, with nothing missed", () => {
    const paused = edited(scheduled({ interval: "1m" }), { status: "paused" }, NOON + SECOND_MS);
    expect(paused.nextRunAt).toBeNull();
    expect(planRun(paused, NOON + DAY_MS, QUIET)).toBeNull();
    const resumed = edited(paused, { status: "active" }, NOON + DAY_MS);
    expect(resumed.nextRunAt).toBe(NOON + DAY_MS + 60 * SECOND_MS);
    expect(planRun(resumed, NOON + DAY_MS + 60 * SECOND_MS, QUIET)).toMatchObject({ outcome: "created", missed: 0 });
    expect(edited(resumed, { status: "active" }, NOON + DAY_MS + 30 * SECOND_MS)).toEqual(resumed);
  });

  test("a clock that was set back brings no due time round again", () => {
    const schedule = scheduled({ cron: "*/5 * * * *" });
    const ran = planRun(schedule, NOON + 301 * SECOND_MS, QUIET)?.schedule as Schedule;
    const resumed = edited(edited(ran, { status: "paused" }, NOON), { status: "active" }, NOON + SECOND_MS);
    expect(resumed.nextRunAt).toBe(NOON + 600 * SECOND_MS);
  });
});

describe("running", () => {
  const due = at("2026-11-21T13:00:00Z");
  const hourly = scheduled({ cron: "0 * * * *", tags: ["gpu", "gpu"], provider: "openai" });

  test("is not due before its time, is due at it, and not again afterwards", () => {
    expect(planRun(hourly, due - 1, QUIET)).toBeNull();
    const plan = planRun(hourly, due, QUIET);
    expect(plan).toMatchObject({ outcome: "created", scheduledFor: due, missed: 0 });
    expect(plan?.schedule).toMatchObject({ lastRunAt: due, nextRunAt: at("2026-11-21T14:00:00Z") });
    expect(planRun(plan?.schedule as Schedule, due, QUIET)).toBeNull();
  });

  test("asks for what the schedule says, under its name", () => {
    const plan = planRun(hourly, due, QUIET);
    expect(plan).toMatchObject({
      request: { prompt: "Summarise the day", provider: "openai", tags: ["gpu"], schedule: "nightly" },
    });
  });

  test("a killswitch of level 2 or more skips the run, and says so; level 1 still queues", () => {
    expect(planRun(hourly, due, { openJob: false, killswitchLevel: 1 })).toMatchObject({ outcome: "created" });
    const skipped = planRun(hourly, due, { openJob: false, killswitchLevel: 2 });
    expect(skipped).toMatchObject({ outcome: "skipped", reason: "killswitch level 2", scheduledFor: due });
    expect(skipped?.schedule).toMatchObject({ lastRunAt: null, nextRunAt: at("2026-11-21T14:00:00Z") });
  });

  test("overlap skip waits for the last job, overlap allow does not", () => {
    const busy = { openJob: true, killswitchLevel: 0 };
    expect(planRun({ ...hourly, overlap: "skip" }, due, busy)).toMatchObject({
      outcome: "skipped",
      reason: expect.stringContaining("open"),
    });
    expect(planRun({ ...hourly, overlap: "skip" }, due, QUIET)).toMatchObject({ outcome: "created" });
    expect(planRun(hourly, due, busy)).toMatchObject({ outcome: "created" });
  });

  test("a manual run ignores pause and overlap, not the killswitch, and does not change the next run", () => {
    const paused = edited({ ...hourly, overlap: "skip" }, { status: "paused" }, NOON);
    expect(planRunNow(paused, due, 0)).toMatchObject({
      outcome: "created",
      scheduledFor: due,
      schedule: { nextRunAt: null },
    });
    expect(planRunNow(hourly, due - 1, 0).schedule).toMatchObject({ nextRunAt: due, lastRunAt: due - 1 });
    expect(planRunNow(hourly, due, 3)).toMatchObject({ outcome: "skipped", reason: "killswitch level 3" });
  });

  test("after a year away, every minute that was missed is counted and one job made", () => {
    const schedule = scheduled({ cron: "* * * * *" }, at("2025-01-01T00:00:30Z"));
    const plan = planRun(schedule, at("2026-01-01T00:00:30Z"), QUIET);
    expect(plan).toMatchObject({ scheduledFor: at("2026-01-01T00:00:00Z"), missed: 365 * 1440 - 1 });
  });

  test("after ten years away, the runs of all ten are counted", () => {
    const schedule = scheduled({ interval: "1d" }, at("2026-01-01T00:00:00Z"));
    expect(planRun(schedule, at("2036-01-01T00:00:00Z"), QUIET)).toMatchObject({ missed: 3652 - 1 });
  });

  test("after a year away in Berlin, the two days of 23 and 25 hours are counted as they were", () => {
    const schedule = scheduled({ cron: "0 * * * *", timezone: "Europe/Berlin" }, at("2026-01-01T00:30:00Z"));
    const plan = planRun(schedule, at("2027-01-01T00:30:00Z"), QUIET);
    expect(plan).toMatchObject({ missed: 365 * 24 - 1 });
  });

  test("a schedule that was away for a century still answers, with what it counted", () => {
    const plan = planRun(scheduled({ cron: "0 0 * * *" }, 0), at("2099-12-31T12:00:00Z"), QUIET);
    expect(plan).toMatchObject({ scheduledFor: at("2099-12-31T00:00:00Z"), missed: 3659 });
  });

  test("the preview is what will run", () => {
    expect(previewRuns(storedTiming(hourly), NOON, 3).map(iso)).toEqual([
      "2026-11-21T13:00:00.000Z",
      "2026-11-21T14:00:00.000Z",
      "2026-11-21T15:00:00.000Z",
    ]);
    expect(previewRuns(storedTiming(hourly), NOON, 0)).toEqual([]);
    expect(previewRuns(storedTiming(hourly), NOON, 1e9)).toHaveLength(100);
  });

  test("a preview looks at the clock around its runs only, however far apart they are", () => {
    const looks = vi.spyOn(Date, "UTC");
    const timing: Timing = { kind: "cron", cron: "0 12 29 2 *", timezone: "Europe/Berlin" };
    const runs = previewRuns(timing, at("2026-01-01T00:00:00Z"), 50);
    const count = looks.mock.calls.length;
    looks.mockRestore();
    expect([runs[0], runs[49]].map((run) => iso(run ?? 0))).toEqual([
      "2028-02-29T11:00:00.000Z",
      "2232-02-29T11:00:00.000Z",
    ]);
    expect(count).toBeLessThan(5_000);
  });
});

describe("for any schedule and any stretches of downtime", () => {
  const cronArbitrary = fc
    .tuple(
      fc.constantFrom("*", "*/7", "0", "15,45", "59", "*/30"),
      fc.constantFrom("*", "*/2", "1-3", "2", "0,23", "*/12"),
      fc.constantFrom("*", "1", "29-31", "*/10"),
      fc.constantFrom("*", "2", "3,10", "4,11"),
      fc.constantFrom("*", "0", "1-5", "SAT,SUN"),
    )
    .map((fields) => fields.join(" "));
  const timezoneArbitrary = fc.constantFrom(
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/Nuuk",
  );
  const timingArbitrary = fc.oneof(
    fc.record({ cron: cronArbitrary, timezone: timezoneArbitrary }),
    fc.record({ interval: fc.integer({ min: 1, max: 5000 }).map((minutes) => `${minutes}m`) }),
  );
  // Short and long, so that both single due times and whole seasons are missed.
  const downtimes = fc.array(
    fc.oneof(fc.integer({ min: 1, max: 3_600_000 }), fc.integer({ min: 1, max: 60 * DAY_MS })),
    {
      minLength: 1,
      maxLength: 20,
    },
  );

  /** Every due time, one by one: independent of how missed ones are counted. */
  function everyDueTime(timing: Timing, afterAt: number, untilAt: number, bound: number): Set<number> | null {
    const due = new Set<number>();
    let dueAt = nextDueAt(timing, afterAt);
    while (dueAt !== null && dueAt <= untilAt) {
      due.add(dueAt);
      if (due.size > bound) return null;
      dueAt = nextDueAt(timing, dueAt);
    }
    return due;
  }

  test("no due time makes two runs and none is forgotten", () => {
    const start = fc.integer({ min: at("2026-01-01T00:00Z"), max: at("2027-01-01T00:00Z") });
    fc.assert(
      fc.property(timingArbitrary, start, downtimes, (fields, createdAt, stretches) => {
        const created = createSchedule({ name: "x", prompt: "p", ...fields }, createdAt);
        fc.pre(created.ok);
        let schedule = scheduled(fields, createdAt);
        let nowAt = createdAt;
        const ran: number[] = [];
        let missed = 0;
        for (const stretch of stretches) {
          nowAt += stretch;
          const plan = planRun(schedule, nowAt, QUIET);
          if (plan === null) continue;
          ran.push(plan.scheduledFor);
          missed += plan.missed;
          schedule = plan.schedule;
          expect(planRun(schedule, nowAt, QUIET)).toBeNull();
        }
        expect(new Set(ran).size).toBe(ran.length);
        const due = everyDueTime(storedTiming(schedule), createdAt, nowAt, 5000);
        fc.pre(due !== null);
        expect(ran.every((scheduledFor) => due.has(scheduledFor))).toBe(true);
        expect(ran.length + missed).toBe(due.size);
      }),
      { numRuns: 150 },
    );
  });

  test("one long sleep and many short ones see the same due times", () => {
    fc.assert(
      fc.property(cronArbitrary, timezoneArbitrary, fc.integer({ min: 1, max: 400 }), (cron, timezone, days) => {
        const timing: Timing = { kind: "cron", cron, timezone };
        const firstAt = nextDueAt(timing, NOON);
        fc.pre(firstAt !== null);
        const untilAt = firstAt + days * DAY_MS;
        const whole = dueRuns(timing, firstAt, untilAt);
        let seen = 0;
        let nextRunAt = firstAt;
        for (let day = 0; day <= days; day++) {
          if (nextRunAt > firstAt + day * DAY_MS) continue;
          const part = dueRuns(timing, nextRunAt, firstAt + day * DAY_MS);
          seen += part.missed + 1;
          nextRunAt = part.nextRunAt ?? Number.POSITIVE_INFINITY;
        }
        expect(seen).toBe(whole.missed + 1);
        expect(nextRunAt).toBe(whole.nextRunAt);
      }),
      { numRuns: 50 },
    );
  });
});
