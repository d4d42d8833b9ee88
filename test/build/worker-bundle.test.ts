// What a deploy sends: an isolate loads all of it before its first answer.

import { expect, it } from "vitest";
import { bundleBytes } from "../../scripts/build/worker-bundle.ts";

/** Of it the front door takes 12 KB and MCP 56. */
const MAX_BUNDLE_BYTES = 320_000;

it("the built edge worker has less than 320 KB, gzipped", async () => {
  expect(await bundleBytes()).toBeLessThan(MAX_BUNDLE_BYTES);
});
