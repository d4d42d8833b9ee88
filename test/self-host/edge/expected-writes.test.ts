// The room that requests under way may still use up.

import { expect, it, vi } from "vitest";
import { watchDisk } from "../../../self-host/edge/disk-watch.ts";
import { ExpectedWrites } from "../../../self-host/edge/expected-writes.ts";

const MIB = 1024 * 1024;

it("a request counts until it has ended, and for five looks at the disk after that", () => {
  const expected = new ExpectedWrites();
  const end = expected.add(MIB);
  for (let looks = 0; looks < 20; looks += 1) expected.noteLook();
  expect(expected.bytes).toBe(6 * MIB);
  end();
  end();
  for (let looks = 0; looks < 4; looks += 1) expected.noteLook();
  expect(expected.bytes).toBe(6 * MIB);
  expected.noteLook();
  expect(expected.bytes).toBe(0);
});

it("of a request that has ended, what came counts", () => {
  const expected = new ExpectedWrites();
  const ends = [MIB, 0, 9 * MIB].map((arrived) => expected.add(3 * MIB, () => arrived));
  expect(expected.bytes).toBe(6 * 9 * MIB);
  for (const end of ends) end();
  expect(expected.bytes).toBe(6 * (1 + 0 + 3) * MIB);
});

it("requests that arrive between two looks at the disk cannot use up the room of reports", () => {
  vi.useFakeTimers();
  try {
    const watch = watchDisk("data", () => ({ freeBytes: 40 * MIB, totalBytes: 140 * MIB, state: "low" }));
    let taken = 0;
    const ends: (() => void)[] = [];
    while (watch.disk().state !== "full" && taken < 100) {
      ends.push(watch.expectWrite(0.95 * MIB));
      taken += 1;
    }
    expect(taken).toBe(6);
    for (const end of ends) end();
    expect(watch.disk().state).toBe("full");
    vi.advanceTimersByTime(6_000);
    expect(watch.disk().state).toBe("ok");
    watch.stop();
  } finally {
    vi.useRealTimers();
  }
});
