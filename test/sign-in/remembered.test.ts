// What is remembered of identity providers.

import { expect, it } from "vitest";
import { MAX_REMEMBERED, Remembered } from "../../src/sign-in/remembered.ts";

it("of one provider more makes it forget the others", () => {
  const remembered = new Remembered<number>();
  for (let at = 0; at < MAX_REMEMBERED; at += 1) remembered.keep(`https://${at}.example`, at);
  expect(remembered.get("https://0.example")).toBe(0);
  remembered.keep("https://new.example", -1);
  expect(remembered.get("https://0.example")).toBeUndefined();
  expect(remembered.get("https://new.example")).toBe(-1);
});
