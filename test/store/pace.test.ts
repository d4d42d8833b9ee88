// New jobs that wait for history: who waits, who goes first, and that nobody waits for ever.

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PATIENCE_MS, Pace } from "../../durable-objects/history/pace.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const started = () => {
  const gone: string[] = [];
  const room = { spare: -1 };
  const pace = new Pace(() => room.spare);
  const waits = (name: string, chars: number): void => void pace.wait(chars).then(() => gone.push(name));
  const released = async (spare: number): Promise<string[]> => {
    room.spare = spare;
    pace.release();
    await vi.advanceTimersByTimeAsync(0);
    return gone.splice(0);
  };
  return { pace, room, waits, released, gone };
};

test("new jobs wait while history is behind, and go on oldest first, as many as there is room for", async () => {
  const { pace, room, waits, released } = started();
  expect(pace.isHeld).toBe(true);
  for (const name of ["one", "two", "three", "four"]) waits(name, 100);
  expect(await released(-1)).toEqual([]);
  expect(await released(500)).toEqual(["one", "two"]);
  room.spare = 1_000;
  expect(pace.isHeld).toBe(true);
  expect(await released(Number.POSITIVE_INFINITY)).toEqual(["three", "four"]);
  expect(pace.isHeld).toBe(false);
});

test("a caller that has waited for long enough goes on, however far behind history is", async () => {
  const { pace, waits, gone } = started();
  waits("one", 100);
  await vi.advanceTimersByTimeAsync(PATIENCE_MS - 1);
  expect(gone).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(gone).toEqual(["one"]);
  expect(pace.isHeld).toBe(true);
});
