import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { calendarSpan, MAX_SPAN_DAYS, PERIODS, periodAt, spanOf } from "../../../domain/money/period.ts";

const at = (text: string): number => Date.parse(text);
const days = ({ fromAt, toAt }: { fromAt: number; toAt: number }): string =>
  `${new Date(fromAt).toISOString().slice(0, 16)} ${new Date(toAt).toISOString().slice(0, 16)}`;
const instants = fc.integer({ min: at("1901-01-01T00:00Z"), max: at("2199-12-31T23:59Z") });

describe("any span", () => {
  const HOUR_MS = 3_600_000;
  const ofHours = (hours: number) => spanOf(at("2026-11-20T00:00Z"), at("2026-11-20T00:00Z") + hours * HOUR_MS);

  test("is widened to whole hours, and the one before is as long", () => {
    const span = spanOf(at("2026-11-20T10:59Z"), at("2026-11-20T12:01Z"));
    expect([days(span), days(span.previous)]).toEqual([
      "2026-11-20T10:00 2026-11-20T13:00",
      "2026-11-20T07:00 2026-11-20T10:00",
    ]);
  });

  test("of two days is drawn by hours, a longer one by days; there are 92 at most", () => {
    expect([ofHours(48).slots.length, ofHours(48).slotMs]).toEqual([48, HOUR_MS]);
    expect([ofHours(49).slots.length, ofHours(49).slotMs]).toEqual([3, 24 * HOUR_MS]);
    expect(MAX_SPAN_DAYS).toBe(92);
  });
});

describe("calendar periods in UTC", () => {
  test.each([
    ["day", "2026-11-21T23:59:59.999Z", "2026-11-21T00:00 2026-11-22T00:00"],
    ["day", "2026-11-22T00:00:00.000Z", "2026-11-22T00:00 2026-11-23T00:00"],
    ["week", "2026-11-22T23:59:59.999Z", "2026-11-16T00:00 2026-11-23T00:00"],
    ["week", "2026-11-23T00:00:00.000Z", "2026-11-23T00:00 2026-11-30T00:00"],
    ["week", "2027-01-01T12:00:00.000Z", "2026-12-28T00:00 2027-01-04T00:00"],
    ["week", "1969-12-31T00:00:00.000Z", "1969-12-29T00:00 1970-01-05T00:00"],
    ["month", "2026-12-31T23:59:59.999Z", "2026-12-01T00:00 2027-01-01T00:00"],
    ["month", "2028-02-29T12:00:00.000Z", "2028-02-01T00:00 2028-03-01T00:00"],
  ] as const)("the %s of %s", (period, instant, expected) => {
    expect(days(periodAt(period, at(instant)))).toBe(expected);
  });

  test.each([
    ["day", "2027-01-01T05:00Z", "2026-12-31T00:00 2027-01-01T00:00"],
    ["week", "2027-01-04T05:00Z", "2026-12-28T00:00 2027-01-04T00:00"],
    ["month", "2028-03-31T05:00Z", "2028-02-01T00:00 2028-03-01T00:00"],
    ["month", "2027-01-31T05:00Z", "2026-12-01T00:00 2027-01-01T00:00"],
  ] as const)("the %s before that of %s", (period, instant, expected) => {
    expect(days(calendarSpan(period, at(instant)).previous)).toBe(expected);
  });

  test.each([
    ["day", "2026-03-29T12:00Z", 24],
    ["week", "2026-03-29T12:00Z", 7],
    ["month", "2026-02-10T00:00Z", 28],
    ["month", "2028-02-10T00:00Z", 29],
    ["month", "2026-12-10T00:00Z", 31],
  ] as const)("the series of the %s of %s has %d slots", (period, instant, count) => {
    expect(calendarSpan(period, at(instant)).slots).toHaveLength(count);
  });

  test("each instant lies in exactly one period and one of its slots, and periods follow on each other", () => {
    fc.assert(
      fc.property(fc.constantFrom(...PERIODS), instants, (period, instant) => {
        const { fromAt, toAt } = periodAt(period, instant);
        expect(fromAt <= instant && instant < toAt).toBe(true);
        expect(periodAt(period, fromAt)).toEqual({ fromAt, toAt });
        expect(calendarSpan(period, toAt).previous).toEqual({ fromAt, toAt });
        const { slots, slotMs } = calendarSpan(period, instant);
        expect(slots[0]).toBe(fromAt);
        expect((slots.at(-1) ?? 0) + slotMs).toBe(toAt);
        expect(slots.filter((slot) => slot <= instant && instant < slot + slotMs)).toHaveLength(1);
      }),
    );
  });
});
