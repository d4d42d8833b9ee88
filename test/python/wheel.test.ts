// The wheel as it is built.

import { describe, expect, it } from "vitest";
import { wheelOf } from "../../self-host/build/wheel.ts";

describe("the wheel", () => {
  it("is the same bytes each time", () => {
    expect(wheelOf().equals(wheelOf())).toBe(true);
  });
});
