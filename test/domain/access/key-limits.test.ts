// What a key may use, and how its requests are counted.

import { describe, expect, test } from "vitest";
import { fitsTokens, mayUseModel, settleTokens, windowAt } from "../../../domain/access/key-limits.ts";

describe("requests are counted in a window", () => {
  const window = { startedAt: 1_000, count: 5, tokens: 0 };

  test("that begins with a request", () => {
    expect(windowAt(null, 7)).toEqual({ startedAt: 7, count: 0, tokens: 0 });
  });

  test("that is over after a minute, and not before", () => {
    expect(windowAt(window, 60_999)).toBe(window);
    expect(windowAt(window, 61_000)).toEqual({ startedAt: 61_000, count: 0, tokens: 0 });
  });

  test("that a clock which was set back does not make longer", () => {
    expect(windowAt(window, 900)).toEqual({ startedAt: 900, count: 0, tokens: 0 });
  });
});

describe("tokens of a window", () => {
  const of = (tokens: number) => ({ startedAt: 1_000, count: 1, tokens });

  test.each([
    ["what still fits", 40, { count: 1, tokens: 60 }, true],
    ["what does not fit any more", 41, { count: 1, tokens: 60 }, false],
    ["one of any size, while nothing is used", 0, { count: 1, tokens: 1_000 }, true],
    ["several, only if they fit together", 0, { count: 2, tokens: 101 }, false],
    ["several that just fit together", 0, { count: 2, tokens: 100 }, true],
  ])("let through %s", (_what, used, demand, expected) => {
    expect(fitsTokens(100, of(used), demand)).toBe(expected);
  });

  test("are corrected in the window in which they were reserved, and only grow in a later one", () => {
    expect(settleTokens(of(80), { createdAt: 1_000 }, 80, 10).tokens).toBe(10);
    expect(settleTokens(of(80), { createdAt: 1_000 }, 80, 100).tokens).toBe(100);
    expect(settleTokens(of(5), { createdAt: 999 }, 80, 10).tokens).toBe(5);
    expect(settleTokens(of(5), { createdAt: 999 }, 80, 100).tokens).toBe(25);
    expect(settleTokens(of(0), { createdAt: 1_000 }, 80, 10).tokens).toBe(0);
  });
});

describe("a key may use a model", () => {
  test.each([
    ["gpt-5", "gpt-5", true],
    ["gpt-5", "gpt-5-mini", false],
    ["gpt-5", "a-gpt-5", false],
    ["*", "anything", true],
    ["*", "", true],
    ["gpt-*", "gpt-5", true],
    ["gpt-*", "gpt-", true],
    ["gpt-*", "a-gpt-5", false],
    ["*-mini", "gpt-5-mini", true],
    ["*-mini", "gpt-5-mini-2", false],
    ["a*c", "abc", true],
    ["a*c", "ac", true],
    ["a*a", "a", false],
    ["ab*ba", "aba", false],
    ["ab*ba", "abba", true],
    ["a*b*c", "a-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["a*b*c", "ac", false],
    ["*b*b*", "ab", false],
    ["*b*b*", "abb", true],
    ["a*bb*b", "abb", false],
    ["a*bb*b", "abbb", true],
    ["(a+)+", "aaaa", false],
    ["llama3.2", "llama3.2:latest", true],
    ["llama3.2", "llama3.2:1b", false],
    ["llama3.2:latest", "llama3.2", true],
    ["llama3.2:latest", "llama3.2:1b", false],
    ["*:latest", "llama3.2:1b", false],
    ["gpt-5", "llama3.2:latest", false],
  ])("under %s: %s is %s", (pattern, model, may) => {
    expect(mayUseModel([pattern], model)).toBe(may);
  });

  test("that any of several patterns names, and none where there is no pattern", () => {
    expect([mayUseModel(["x", "gpt-*"], "gpt-5"), mayUseModel([], "gpt-5")]).toEqual([true, false]);
  });
});
