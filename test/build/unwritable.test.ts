// A service's user may not write where its administrator has checked out and built.

import { expect, it, vi } from "vitest";
import { markBuilt } from "../../self-host/build/built.mjs";
import { buildIfChanged } from "../../self-host/build/stamp.ts";
import { ExitError } from "../../self-host/exit-error.ts";
import { ROOT } from "../../self-host/run-command.ts";

vi.mock("node:fs", async (original) => {
  const refuse = () => {
    throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
  };
  return { ...(await original<typeof import("node:fs")>()), rmSync: refuse, writeFileSync: refuse };
});

it("what is built already is served where nothing can be written", () => {
  expect(() => markBuilt(ROOT, { products: [], inputs: [], seen: "" })).not.toThrow();
});

it("sources that have changed since are built by who may write, and the start says so", async () => {
  const work = vi.fn();
  const step = { stamp: "dist/none.stamp", product: "package.json", inputs: ["LICENSE"] };
  const refused = await buildIfChanged(step, work).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ExitError);
  expect((refused as Error).message).toContain("Build it once as its owner: npm start.");
  expect(work).not.toHaveBeenCalled();
});
