// The bundle that a deploy sends: an isolate loads all of it before its first answer.

import { expect, it } from "vitest";
import { bundleBytes } from "../../self-host/build/worker-bundle.ts";

/** Of this, YAML takes 31 KB, zod 28, the price table 20 and the front door 12. */
const MAX_BUNDLE_BYTES = 434_000;

it("the built edge worker has less than 434 KB, gzipped", async () => {
  expect(await bundleBytes()).toBeLessThan(MAX_BUNDLE_BYTES);
});
