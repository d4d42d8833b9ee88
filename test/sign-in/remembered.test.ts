// What is remembered of identity providers.

import { expect, it, vi } from "vitest";
import { askUnlessFailing, MAX_REMEMBERED, Remembered } from "../../src/sign-in/remembered.ts";

it("of one provider more makes it forget the others", () => {
  const remembered = new Remembered<number>();
  for (let at = 0; at < MAX_REMEMBERED; at += 1) remembered.keep(`https://${at}.example`, at);
  expect(remembered.get("https://0.example")).toBe(0);
  remembered.keep("https://new.example", -1);
  expect(remembered.get("https://0.example")).toBeUndefined();
  expect(remembered.get("https://new.example")).toBe(-1);
});

it("is a failure, for a second: its address is not asked again, others are", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const ask = vi.fn(async (): Promise<string> => {
      throw new Error("away");
    });
    for (let times = 0; times < 3; times += 1)
      await expect(askUnlessFailing("https://away.example", ask)).rejects.toThrow("away");
    await expect(askUnlessFailing("https://other.example", ask)).rejects.toThrow("away");
    expect(ask).toHaveBeenCalledTimes(2);
    vi.setSystemTime(Date.now() + 1_001);
    expect(await askUnlessFailing("https://away.example", async () => "back")).toBe("back");
    expect(await askUnlessFailing("https://away.example", async () => "still")).toBe("still");
  } finally {
    vi.useRealTimers();
  }
});
