// What a refusal says about a value that may be of several kinds.

import { expect, it } from "vitest";
import { configDocument } from "../../contract/config/config.ts";
import { fieldErrorsOf } from "../../contract/words/validation.ts";

const errorsOf = (alias: unknown) => {
  const given = { front_door: { aliases: { fast: alias } } };
  const read = configDocument.safeParse(given);
  return read.success ? [] : fieldErrorsOf(configDocument, read.error, given);
};

const AT = "front_door.aliases.fast";

it.each([
  [{ modle: "m" }, [`${AT}.model`, "is required"]],
  [{ model: "m", provder: "p" }, [`${AT}.provder`, 'unknown field "provder"; did you mean "provider"?']],
  [
    [{ model: "m" }, { provider: "p" }],
    [`${AT}.1.model`, "is required"],
  ],
  [[{ model: "m", wieght: 1 }], [`${AT}.0.wieght`, 'unknown field "wieght"; did you mean "weight"?']],
])("%j is at fault where its own kind is", (alias, [path, message]) => {
  expect(errorsOf(alias)).toContainEqual({ path, message });
});

it("a value of no kind is refused as a whole", () => {
  expect(errorsOf(7)).toEqual([{ path: AT, message: "Invalid input" }]);
});
