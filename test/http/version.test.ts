import { expect, test } from "vitest";
import { VERSION } from "../../contract/words/version.ts";
import manifest from "../../package.json" with { type: "json" };

test("the service tells the version of its release", () => {
  expect(VERSION).toBe(manifest.version);
});
