import { expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { VERSION } from "../../src/version.ts";

test("the service tells the version of its release", () => {
  expect(VERSION).toBe(manifest.version);
});
