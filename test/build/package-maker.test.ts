// The package of workers and clients is made by the process that then serves it: the service of its bundler ends before.

import path from "node:path";
import { expect, it, vi } from "vitest";
import { ROOT } from "../../self-host/run-command.ts";
import { freshWith } from "../support/fresh-modules.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const folder = folderForEachTest();

it("the bundler's service ends once the bundles are made, also if they cannot be", async () => {
  const [build, stop] = [vi.fn().mockRejectedValue(new Error("no bundle")), vi.fn()];
  const load = () => import("../../self-host/build/make-package.ts");
  const { makePackage } = await freshWith("esbuild", () => ({ build, stop }), load);
  await expect(makePackage("package.tgz", path.relative(ROOT, folder.path))).rejects.toThrow("no bundle");
  expect(build).toHaveBeenCalled();
  expect(stop).toHaveBeenCalledOnce();
});
