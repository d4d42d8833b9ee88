// The bundle that a deploy sends: an isolate loads all of it before its first answer.

import { expect, it } from "vitest";
import { bundleBytes } from "../../scripts/build/worker-bundle.ts";

/** A few KB over today's size, so that growth is noticed. Of this, MCP takes 56 KB, YAML 27, the price table 23 and the front door 12. */
const MAX_BUNDLE_BYTES = 420_000;

it("the built edge worker has less than 420 KB, gzipped", async () => {
  expect(await bundleBytes()).toBeLessThan(MAX_BUNDLE_BYTES);
});
