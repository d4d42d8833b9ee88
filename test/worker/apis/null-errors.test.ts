// Servers may write every field of an event, and null in those that it does not have: an error that is null is none.

import { expect, test } from "vitest";
import { DIALECTS } from "../../../worker/apis/dialects.ts";

test.each([
  ["messages", { type: "ping", error: null }],
  ["responses", { error: null }],
  ["images/generations", { type: "image_generation.partial_image", error: null }],
  ["chat/completions", { choices: [], error: null }],
] as const)("an event of %s whose error is null is no error", (api, event) => {
  expect(DIALECTS[api].assemble?.().take(JSON.stringify(event)).kind).not.toBe("error");
});
