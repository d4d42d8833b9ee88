import { CronExpressionParser } from "cron-parser";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseCron } from "../../../domain/schedule/cron.ts";
import { cronRunsBetween, nextCronAt } from "../../../domain/schedule/cron-times.ts";
import { parseTimezone } from "../../../domain/words/timezone.ts";

const at = (text: string): number => Date.parse(text);
const iso = (instant: number | null): string | null => (instant === null ? null : new Date(instant).toISOString());

/** The due times after `from`, to the minute. */
function runs(cron: string, timezone: string, from: string, count: number): string[] {
  const found: string[] = [];
  let afterAt: number | null = at(from);
  while (found.length < count) {
    afterAt = nextCronAt({ cron, timezone }, afterAt);
    if (afterAt === null) break;
    found.push(new Date(afterAt).toISOString().slice(0, 16));
  }
  return found;
}

describe("reading an expression", () => {
  test.each([
    "* * * * *",
    "*/5 9-17 * * MON-FRI",
    "0 0 1 JAN,jul *",
    "0,30 */2 1-15/3 * 0",
    "59 23 31 12 7",
    "05 00 * * *",
    "0   0  * * *",
    "0 0 * * 5-7",
    "0 0 * * FRI-SUN",
    "0 0 * * SUN-MON",
    "0 0 1 1-JAN,DEC-12 *",
    "*/1 */24 * * *",
    "*/60 * * * *",
    "0 0 30 2 MON",
  ])("%s is accepted", (cron) => {
    expect(parseCron(cron)).toMatchObject({ ok: true });
  });

  test.each([
    ["", "0 fields"],
    ["* * * *", "4 fields"],
    ["0 * * * * *", "6 fields"],
    ["H * * * *", 'minute field "H" cannot be read'],
    ["H(0-5) * * * *", 'character "("'],
    ["0 0 L * *", 'day of month field "L"'],
    ["0 0 15W * *", 'day of month field "15W"'],
    ["0 0 * * 5L", 'day of week field "5L"'],
    ["0 0 * * 5#3", 'character "#"'],
    ["0 0 ? * *", 'character "?"'],
    ["@daily", "0 0 * * *"],
    ["0 0 * * *\n", "character"],
    ["0 0 * * * ", "must not begin or end"],
    ["0\t0 * * *", "character"],
    ["٣ * * * *", 'character "٣"'],
    ["60 * * * *", "within 0-59"],
    ["* 24 * * *", "within 0-23"],
    ["* * 0 * *", "within 1-31"],
    ["* * * 13 *", "within 1-12"],
    ["* * * * 8", "within 0-7"],
    ["5-60 * * * *", "within 0-59"],
    ["000 * * * *", "cannot be read"],
    ["0-010 * * * *", "cannot be read"],
    ["*/010 * * * *", "cannot be read"],
    ["* * * FOO *", "names such as FEB"],
    ["MON * * * *", "within 0-59"],
    ["5/20 * * * *", "write 5-59/20"],
    ["*/0 * * * *", "between 1 and 60"],
    ["*/99 * * * *", "between 1 and 60"],
    ["*/61 * * * *", "between 1 and 60"],
    ["* 9-17/10 * * *", "between 1 and 9"],
    ["* 22-4 * * *", "runs backwards"],
    ["*/5/5 * * * *", "cannot be read"],
    ["1,,2 * * * *", "cannot be read"],
    ["-1 * * * *", "cannot be read"],
    ["1e1 * * * *", "minute field"],
    ["0x5 * * * *", "minute field"],
    ["constructor * * * *", "minute field"],
    [`${"0,".repeat(63)}0 * * * *`, "at most 128"],
    ["0-10,5-15 * * * *", "names a value twice"],
    ["0 0 * * 0,7", "0 and 7 are both Sunday"],
  ])("%j is refused with a message that says why", (cron, reason) => {
    const parsed = parseCron(cron);
    expect(parsed.ok).toBe(false);
    if (!parsed.ok) expect(parsed.error).toContain(reason);
  });

  test("128 characters are read, one more is refused", () => {
    const padded = (length: number): string => `0${" ".repeat(length - 8)}0 * * *`;
    expect([padded(128).length, parseCron(padded(128)).ok, parseCron(padded(129)).ok]).toEqual([128, true, false]);
  });

  test("a day that none of the months has is refused, in whatever combination", () => {
    const days = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    for (let month = 1; month <= 12; month++) {
      for (let other = 1; other <= 12; other++) {
        for (let day = 28; day <= 31; day++) {
          const exists = day <= (days[month - 1] ?? 0) || day <= (days[other - 1] ?? 0);
          const parsed = parseCron(`0 0 ${day} ${month === other ? month : `${month},${other}`} *`);
          expect(parsed.ok, `${day} in ${month},${other}`).toBe(exists);
          if (!parsed.ok) expect(parsed.error).toContain("never fires");
        }
      }
    }
  });

  test("whatever is typed, the answer is a value, and what is accepted fires", () => {
    const nasty = fc.string({ unit: fc.constantFrom(..."0123456789*,-/ HLW#?@JANMON\n٣"), maxLength: 200 });
    fc.assert(
      fc.property(nasty, (cron) => {
        if (parseCron(cron).ok) expect(nextCronAt({ cron, timezone: "UTC" }, 0)).not.toBeNull();
      }),
    );
  });

  test.each(["Europe/Berlin", "UTC", "America/Argentina/Buenos_Aires", "Asia/Kathmandu"])(
    "%s is a time zone",
    (name) => {
      expect(parseTimezone(name)).toEqual({ ok: true, value: name });
    },
  );

  test.each(["", "Mars/Olympus", "+02:00", "Europe/Berlin\n", "local", "x".repeat(100)])("%j is refused", (name) => {
    expect(parseTimezone(name)).toMatchObject({ ok: false, error: expect.stringContaining('"Europe/Berlin"') });
  });
});

describe("the calendar", () => {
  test.each([
    ["leap days", "0 0 29 2 *", "2026-01-01T00:00Z", ["2028-02-29T00:00", "2032-02-29T00:00"]],
    ["a century without a leap day", "0 0 29 2 *", "2096-03-01T00:00Z", ["2104-02-29T00:00"]],
    ["a century with one", "0 0 29 2 *", "1999-01-01T00:00Z", ["2000-02-29T00:00"]],
    ["month ends", "0 0 31 * *", "2026-01-31T00:00Z", ["2026-03-31T00:00", "2026-05-31T00:00", "2026-07-31T00:00"]],
    ["the year's end", "59 23 31 12 *", "2026-12-31T23:58Z", ["2026-12-31T23:59", "2027-12-31T23:59"]],
    ["over the year's end", "*/30 * * * *", "2026-12-31T23:30Z", ["2027-01-01T00:00", "2027-01-01T00:30"]],
    ["Sunday as 0", "0 12 * * 0", "2026-11-21T00:00Z", ["2026-11-22T12:00", "2026-11-29T12:00"]],
    ["Sunday as 7", "0 12 * * 7", "2026-11-21T00:00Z", ["2026-11-22T12:00", "2026-11-29T12:00"]],
    [
      "Friday to Sunday",
      "0 0 * * FRI-SUN",
      "2026-11-19T12:00Z",
      ["2026-11-20T00:00", "2026-11-21T00:00", "2026-11-22T00:00"],
    ],
    ["either day field will do", "0 0 13 * FRI", "2026-11-07T00:00Z", ["2026-11-13T00:00", "2026-11-20T00:00"]],
    ["a due time itself is not after itself", "0 9 * * *", "2026-11-21T09:00Z", ["2026-11-22T09:00"]],
    ["a millisecond before is", "0 9 * * *", "2026-11-21T08:59:59.999Z", ["2026-11-21T09:00"]],
    ["before 1970", "0 0 1 1 *", "1968-06-01T00:00Z", ["1969-01-01T00:00", "1970-01-01T00:00"]],
  ])("%s", (_, cron, from, expected) => {
    expect(runs(cron, "UTC", from, expected.length)).toEqual(expected);
  });

  test("a zone of quarter hours keeps its own midnight", () => {
    expect(runs("0 0 * * *", "Asia/Kathmandu", "2026-11-21T00:00Z", 2)).toEqual([
      "2026-11-21T18:15",
      "2026-11-22T18:15",
    ]);
  });

  test("in UTC the due times are those of cron-parser", () => {
    const field = (min: number, max: number) =>
      fc.oneof(
        fc.constant("*"),
        fc.integer({ min, max }).map(String),
        fc
          .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
          .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
        fc.integer({ min: 1, max: max - min + 1 }).map((step) => `*/${step}`),
        fc.uniqueArray(fc.integer({ min, max }), { minLength: 1, maxLength: 3 }).map((list) => list.join(",")),
      );
    const cronArbitrary = fc.tuple(field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6));
    fc.assert(
      fc.property(cronArbitrary, fc.integer({ min: 0, max: at("2090-01-01T00:00Z") }), (fields, afterAt) => {
        const cron = fields.join(" ");
        const iterator = CronExpressionParser.parse(cron, { tz: "UTC", currentDate: afterAt });
        let ourAt: number | null = afterAt;
        for (let run = 0; run < 5; run++) {
          ourAt = nextCronAt({ cron, timezone: "UTC" }, ourAt as number);
          expect(iso(ourAt), cron).toBe(iso(iterator.next().getTime()));
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("when the clocks jump forward, a skipped time is due once, at the first moment after the gap", () => {
  test.each([
    [
      "Berlin skips 02:30",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-03-28T00:00Z",
      ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"],
    ],
    [
      "New York skips 02:30",
      "30 2 * * *",
      "America/New_York",
      "2026-03-07T12:00Z",
      ["2026-03-08T07:00", "2026-03-09T06:30"],
    ],
    [
      "Lord Howe skips 02:15, by half an hour",
      "15 2 * * *",
      "Australia/Lord_Howe",
      "2026-10-02T00:00Z",
      ["2026-10-02T15:45", "2026-10-03T15:30", "2026-10-04T15:15"],
    ],
    [
      "Lord Howe keeps 02:45",
      "45 2 * * *",
      "Australia/Lord_Howe",
      "2026-10-03T00:00Z",
      ["2026-10-03T15:45", "2026-10-04T15:45"],
    ],
    [
      "Beirut skips midnight",
      "0 0 * * *",
      "Asia/Beirut",
      "2026-03-28T12:00Z",
      ["2026-03-28T22:00", "2026-03-29T21:00"],
    ],
    [
      "Nuuk skips 23:30, the next moment is the next day",
      "30 23 * * *",
      "America/Nuuk",
      "2026-03-28T02:00Z",
      ["2026-03-29T01:00", "2026-03-30T00:30"],
    ],
    [
      "several skipped times are one",
      "*/15 2 * * *",
      "Europe/Berlin",
      "2026-03-28T12:00Z",
      ["2026-03-29T01:00", "2026-03-30T00:00"],
    ],
    [
      "a skipped time and the one it falls on are one",
      "*/30 2,3 * * *",
      "Europe/Berlin",
      "2026-03-28T12:00Z",
      ["2026-03-29T01:00", "2026-03-29T01:30", "2026-03-30T00:00"],
    ],
    [
      "every hour needs no making up",
      "30 * * * *",
      "Europe/Berlin",
      "2026-03-29T00:00Z",
      ["2026-03-29T00:30", "2026-03-29T01:30"],
    ],
    [
      "Samoa skipped a whole day",
      "30 9 30 12 *",
      "Pacific/Apia",
      "2011-01-30T00:00Z",
      ["2011-12-30T10:00", "2012-12-29T19:30"],
    ],
  ])("%s", (_, cron, timezone, from, expected) => {
    expect(runs(cron, timezone, from, expected.length)).toEqual(expected);
  });
});

test("a skipped time and the one it falls on are counted as one", () => {
  const timing = { cron: "*/30 2,3 * * *", timezone: "Europe/Berlin" };
  const counted = cronRunsBetween(timing, at("2026-03-28T23:00Z"), at("2026-03-29T22:00Z"));
  expect(counted).toEqual({ count: 2, lastAt: at("2026-03-29T01:30Z") });
});

describe("when the clocks jump back, a repeated time is due the first time only", () => {
  test.each([
    [
      "Berlin repeats 02:30",
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T12:00Z",
      ["2026-10-25T00:30", "2026-10-26T01:30"],
    ],
    ["asked between the two", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:45Z", ["2026-10-26T01:30"]],
    ["asked in the second hour", "*/10 2 * * *", "Europe/Berlin", "2026-10-25T01:05Z", ["2026-10-26T01:00"]],
    [
      "New York repeats 01:30",
      "30 1 * * *",
      "America/New_York",
      "2026-10-31T12:00Z",
      ["2026-11-01T05:30", "2026-11-02T06:30"],
    ],
    [
      "Lord Howe repeats 01:45, by half an hour",
      "45 1 * * *",
      "Australia/Lord_Howe",
      "2026-04-04T00:00Z",
      ["2026-04-04T14:45", "2026-04-05T15:15"],
    ],
    [
      "every hour goes on through the repeated one",
      "30 * * * *",
      "Europe/Berlin",
      "2026-10-24T23:45Z",
      ["2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"],
    ],
    [
      "St John's went back over midnight",
      "30 23 * * *",
      "America/St_Johns",
      "2009-10-31T12:00Z",
      ["2009-11-01T02:00", "2009-11-02T03:00"],
    ],
  ])("%s", (_, cron, timezone, from, expected) => {
    expect(runs(cron, timezone, from, expected.length)).toEqual(expected);
  });
});

describe("minute by minute", () => {
  test("a due time is counted from its instant on, not a millisecond before", () => {
    const timing = { cron: "0 9 * * *", timezone: "UTC" };
    const [from, due] = [at("2026-11-21T08:00Z"), at("2026-11-21T09:00Z")];
    expect(cronRunsBetween(timing, from, due - 1)).toEqual({ count: 0, lastAt: null });
    expect(cronRunsBetween(timing, from, due)).toEqual({ count: 1, lastAt: due });
    expect(cronRunsBetween(timing, due, due + 1)).toEqual({ count: 0, lastAt: null });
  });

  const MINUTE_MS = 60_000;
  const changes: readonly (readonly [string, string])[] = [
    ["Europe/Berlin", "2026-03-29T01:00Z"],
    ["Europe/Berlin", "2026-10-25T01:00Z"],
    ["America/New_York", "2026-11-01T06:00Z"],
    ["Australia/Lord_Howe", "2026-10-03T15:30Z"],
    ["Australia/Lord_Howe", "2026-04-04T15:00Z"],
    ["America/Nuuk", "2026-03-29T01:00Z"],
    ["Asia/Beirut", "2026-10-24T21:00Z"],
    ["America/St_Johns", "2009-11-01T02:31Z"],
    ["Pacific/Chatham", "2026-09-26T14:00Z"],
    ["Asia/Kathmandu", "2026-06-01T00:00Z"],
  ];
  const walls = new Map<string, number>();

  /** The wall clock in minutes, computed in another way than the code under test. */
  function wallMinute(timezone: string, instant: number): number {
    const key = `${timezone} ${instant}`;
    const known =
      walls.get(key) ??
      at(`${new Date(instant).toLocaleString("sv-SE", { timeZone: timezone }).replace(" ", "T")}Z`) / MINUTE_MS;
    walls.set(key, known);
    return known;
  }

  function dueByTheMinute(
    minutes: Set<number>,
    hours: Set<number>,
    timezone: string,
    fromAt: number,
    untilAt: number,
  ): number[] {
    const matches = (wall: number): boolean => minutes.has(wall % 60) && hours.has(Math.floor(wall / 60) % 24);
    const due: number[] = [];
    let reached = wallMinute(timezone, fromAt - 1440 * MINUTE_MS);
    for (let instant = fromAt - 1439 * MINUTE_MS; instant <= untilAt; instant += MINUTE_MS) {
      const wall = wallMinute(timezone, instant);
      let isDue = matches(wall) && (hours.size === 24 || wall > reached);
      for (let skipped = reached + 1; skipped < wall && hours.size < 24; skipped++) isDue ||= matches(skipped);
      reached = Math.max(reached, wall);
      if (isDue && instant > fromAt) due.push(instant);
    }
    return due;
  }

  test("the due times around a change of the clocks are those that a patient reader of the clock finds", () => {
    const subset = (max: number) => fc.uniqueArray(fc.integer({ min: 0, max }), { minLength: 1, maxLength: 4 });
    const hoursArbitrary = fc.oneof(subset(3), subset(23), fc.constant(Array.from({ length: 24 }, (_, hour) => hour)));
    fc.assert(
      fc.property(
        fc.constantFrom(...changes),
        subset(59),
        hoursArbitrary,
        fc.integer({ min: -1500, max: 60 }),
        ([timezone, change], minutes, hours, start) => {
          const fromAt = at(change) + start * MINUTE_MS;
          const untilAt = fromAt + 2880 * MINUTE_MS;
          const cron = `${minutes.join(",")} ${hours.length === 24 ? "*" : hours.join(",")} * * *`;
          const due = dueByTheMinute(new Set(minutes), new Set(hours), timezone, fromAt, untilAt);
          const between = cronRunsBetween({ cron, timezone }, fromAt, untilAt);
          expect(between, cron).toEqual({ count: due.length, lastAt: due.at(-1) ?? null });
          let afterAt = fromAt;
          for (const dueAt of due) {
            const nextAt = nextCronAt({ cron, timezone }, afterAt);
            expect(iso(nextAt), `${cron} in ${timezone}`).toBe(iso(dueAt));
            afterAt = dueAt;
          }
        },
      ),
      { numRuns: 60 },
    );
  }, 120_000);
});
