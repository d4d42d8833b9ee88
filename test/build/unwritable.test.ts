// A service's user may not write where its administrator has checked out and built.

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { ROOT } from "../../self-host/run-command.ts";

/** Fresh ones, because another file of this process may have loaded them with the true `node:fs`. */
let built: typeof import("../../self-host/build/built.mjs");
let stamps: typeof import("../../self-host/build/stamp.ts");

beforeAll(async () => {
  vi.resetModules();
  vi.doMock("node:fs", async (original) => {
    const refuse = () => {
      throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
    };
    return { ...(await original<typeof import("node:fs")>()), rmSync: refuse, writeFileSync: refuse };
  });
  built = await import("../../self-host/build/built.mjs");
  stamps = await import("../../self-host/build/stamp.ts");
});

afterAll(() => {
  vi.doUnmock("node:fs");
  vi.resetModules();
});

it("what is built already is served where nothing can be written", () => {
  expect(() => built.markBuilt(ROOT, { products: [], inputs: [], seen: "" })).not.toThrow();
});

it("sources that have changed since are built by who may write, and the start says so", async () => {
  const work = vi.fn();
  const step = { stamp: "dist/none.stamp", product: "package.json", inputs: ["LICENSE"] };
  await expect(stamps.buildIfChanged(step, work)).rejects.toThrow("Build it once as its owner: npm start.");
  expect(work).not.toHaveBeenCalled();
});
