// A service's user may not write where its administrator has checked out and built.

import { expect, it, vi } from "vitest";
import { ROOT } from "../../self-host/run-command.ts";
import { freshWith } from "../support/fresh-modules.ts";

const refuse = () => {
  throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
};

const whereNothingIsWritten = <T>(load: () => Promise<T>): Promise<T> =>
  freshWith("node:fs", async (original) => ({ ...(await original()), rmSync: refuse, writeFileSync: refuse }), load);

it("what is built already is served where nothing can be written", async () => {
  const { markBuilt } = await whereNothingIsWritten(() => import("../../self-host/build/built.mjs"));
  expect(() => markBuilt(ROOT, { products: [], inputs: [], seen: "" })).not.toThrow();
});

it("sources that have changed since are built by who may write, and the start says so", async () => {
  const { buildIfChanged } = await whereNothingIsWritten(() => import("../../self-host/build/stamp.ts"));
  const work = vi.fn();
  const step = { stamp: "dist/none.stamp", product: "package.json", inputs: ["LICENSE"] };
  await expect(buildIfChanged(step, work)).rejects.toThrow("Build it once as its owner: npm start.");
  expect(work).not.toHaveBeenCalled();
});
