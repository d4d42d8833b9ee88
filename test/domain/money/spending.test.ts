// Spending by day and by month.

import { expect, test } from "vitest";
import { dayStartAt, Spending, type SpentOnDay } from "../../../domain/money/spending.ts";

const DAY_MS = 86_400_000;
const day = (date: string): number => Date.parse(`${date}T00:00:00Z`);
const spent = (date: string, provider: string, nanoUsd: number): SpentOnDay => ({
  dayAt: day(date),
  provider,
  nanoUsd,
});

const SPENDING = new Spending([
  spent("2026-10-31", "a", 1),
  spent("2026-11-01", "a", 2),
  spent("2026-11-20", "a", 4),
  spent("2026-11-20", "b", 8),
  spent("2026-11-20", "a", 16),
  spent("2026-11-21", "b", 32),
  spent("2026-11-30", "b", 64),
  spent("2026-12-01", "a", 128),
]);

test.each([
  ["day", "2026-11-20T00:00:00.000Z", null, 28],
  ["day", "2026-11-20T23:59:59.999Z", null, 28],
  ["day", "2026-11-20T12:00:00Z", "a", 20],
  ["day", "2026-11-20T12:00:00Z", "b", 8],
  ["day", "2026-11-20T12:00:00Z", "c", 0],
  ["day", "2026-11-22T12:00:00Z", null, 0],
  ["month", "2026-10-31T23:59:59.999Z", null, 1],
  ["month", "2026-11-01T00:00:00.000Z", null, 126],
  ["month", "2026-11-20T12:00:00Z", null, 126],
  ["month", "2026-11-21T00:00:00.000Z", null, 126],
  ["month", "2026-11-21T12:00:00Z", "a", 22],
  ["month", "2026-11-30T23:59:59.999Z", null, 126],
  ["month", "2026-12-01T00:00:00.000Z", null, 128],
] as const)("of the %s of %s, by %s", (period, at, provider, expected) => {
  expect(SPENDING.of(period, Date.parse(at), provider)).toBe(expected);
});

test("after a set-back clock, the month has what was spent on its later days, and the next such day is known", () => {
  expect(SPENDING.of("month", day("2026-11-02"), "b")).toBe(104);
  const instants = [day("2026-11-20") - 1, day("2026-11-20"), day("2026-11-21"), day("2026-12-01")];
  expect(instants.map((at) => SPENDING.nextDayAt(at))).toEqual([
    day("2026-11-20"),
    day("2026-11-21"),
    day("2026-11-30"),
    null,
  ]);
});

test("what is added counts at once", () => {
  const spending = new Spending();
  expect(spending.of("day", day("2026-11-20"))).toBe(0);
  spending.add(spent("2026-11-20", "a", 3));
  spending.add(spent("2026-11-20", "a", 4));
  expect([spending.of("day", day("2026-11-20")), spending.of("month", day("2026-11-20"), "a")]).toEqual([7, 7]);
});

test("a day starts at midnight UTC", () => {
  const at = day("2026-11-20");
  expect([at, at + 1, at + DAY_MS - 1, at + DAY_MS].map(dayStartAt)).toEqual([at, at, at, at + DAY_MS]);
});
