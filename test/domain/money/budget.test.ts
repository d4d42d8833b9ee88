import { describe, expect, test } from "vitest";
import { describeReached, reachedAtPace, reachedBudget } from "../../../domain/money/budget.ts";

const nowAt = Date.parse("2026-11-21T12:00:00Z");
const USD = 1_000_000_000;
const budget = { dayUsd: 5, monthUsd: 100 };

describe("the pace", () => {
  const midnight = Date.parse("2026-11-21T00:00:00Z");
  const inHours = (hours: number): number => midnight + hours * 3_600_000;
  test.each([
    ["nothing spent", {}, 0, 0, null],
    ["half of the day's limit at noon: just at its end, which is too late", { dayUsd: 2 }, 1, 1, null],
    ["more than half of it", { dayUsd: 3 }, 2, 2, inHours(18)],
    ["the day's limit reached", { dayUsd: 3 }, 3, 3, null],
    ["no limit", { dayUsd: null }, 3, 3, null],
    ["the month's limit", { monthUsd: 25 }, 0, 20.5, Date.parse("2026-11-26T00:00:00Z")],
    ["both: the earlier", { dayUsd: 3, monthUsd: 25 }, 2, 20.5, inHours(18)],
    ["both: the month's, where it is the earlier", { dayUsd: 3, monthUsd: 41.25 }, 2, 41, inHours(15)],
  ] as const)("with %s", (_, limits, day, month, expected) => {
    const spending = { dayNanoUsd: day * USD, monthNanoUsd: month * USD };
    expect(reachedAtPace(limits, spending, nowAt)).toBe(expected);
  });
});

describe("a budget", () => {
  test.each([
    ["nothing spent", 0, 0, null],
    ["a nano-dollar short of both", 5 * USD - 1, 100 * USD - 1, null],
    ["the day's limit met exactly", 5 * USD, 99 * USD, "day"],
    ["the month's limit met exactly", 0, 100 * USD, "month"],
    ["both reached: the month's holds longer", 6 * USD, 101 * USD, "month"],
  ])("%s", (_, dayNanoUsd, monthNanoUsd, expected) => {
    expect(reachedBudget(budget, { dayNanoUsd, monthNanoUsd }, nowAt, null)?.period ?? null).toBe(expected);
  });

  test("says when it resets, in words an operator can read", () => {
    const day = reachedBudget(budget, { dayNanoUsd: 5 * USD + 1, monthNanoUsd: 0 }, nowAt, null);
    expect(day).toMatchObject({ limitNanoUsd: 5 * USD, resetsAt: Date.parse("2026-11-22T00:00:00Z") });
    expect(day && describeReached(day)).toBe(
      "the day's budget of $5.00 is reached ($5.00 spent); it resets at 2026-11-22T00:00:00.000Z",
    );
    const month = reachedBudget(budget, { dayNanoUsd: 0, monthNanoUsd: 100 * USD }, nowAt, "openai");
    expect(month?.resetsAt).toBe(Date.parse("2026-12-01T00:00:00Z"));
    expect(month && describeReached(month)).toContain("the month's budget of $100.00 for openai is reached");
  });

  test.each([
    [0.125, 0.125 * USD, "$0.125 is reached ($0.125 spent)"],
    [1.004, 1.0041 * USD, "$1.004 is reached ($1.004 spent)"],
    [0.0000125, 0.0000126 * USD, "$0.0000125 is reached ($0.0000126 spent)"],
    [1_000, 1_234.5 * USD, "$1,000.00 is reached ($1,234.50 spent)"],
  ])("names its limit of %s as it was set", (dayUsd, dayNanoUsd, words) => {
    const reached = reachedBudget({ dayUsd }, { dayNanoUsd, monthNanoUsd: 0 }, nowAt, null);
    expect(reached && describeReached(reached)).toContain(words);
  });

  test("without a limit is never reached; a limit of 0 is reached at once", () => {
    const spending = { dayNanoUsd: 1e12, monthNanoUsd: 1e12 };
    expect(reachedBudget({}, spending, nowAt, null)).toBeNull();
    expect(reachedBudget({ dayUsd: null, monthUsd: null }, spending, nowAt, null)).toBeNull();
    expect(reachedBudget({ dayUsd: 0 }, { dayNanoUsd: 0, monthNanoUsd: 0 }, nowAt, null)).toMatchObject({
      period: "day",
    });
  });
});
