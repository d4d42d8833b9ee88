// A relay holds a bounded number of data lines: those on which something is said stay.

import { describe, expect, it } from "vitest";
import { placeForLine } from "../../durable-objects/relay/line-place.ts";
import { MAX_LINES } from "../../durable-objects/relay/relay-bounds.ts";

const busy = (...names: string[]) => {
  const speaking = new Set(names);
  return (line: string): boolean => speaking.has(line);
};

describe("a further data line", () => {
  it("has a place of its own while there are fewer than 4,096", () => {
    const lines = Array.from({ length: MAX_LINES - 1 }, (_, at) => `w${at}`);
    expect(placeForLine(lines, busy())).toBe("free");
    expect(placeForLine([...lines, "last"], busy())).toBe("w0");
  });

  it("takes that of the oldest line on which nothing is said", () => {
    expect(placeForLine(["a", "b", "c"], busy("a"), 3)).toBe("b");
  });

  it("is refused where something is said on all", () => {
    expect(placeForLine(["a", "b"], busy("a", "b"), 2)).toBeNull();
  });
});
