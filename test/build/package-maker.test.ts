// The package of workers and clients is made by the process that then serves it: the service of its bundler ends before.

import path from "node:path";
import { expect, it, vi } from "vitest";
import { ROOT } from "../../self-host/run-command.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const { build, stop } = vi.hoisted(() => ({ build: vi.fn(), stop: vi.fn() }));
vi.mock("esbuild", () => ({ build, stop }));

const folder = folderForEachTest();

it("the bundler's service ends once the bundles are made, also if they cannot be", async () => {
  const { makePackage } = await import("../../self-host/build/make-package.ts");
  build.mockRejectedValue(new Error("no bundle"));
  await expect(makePackage("package.tgz", path.relative(ROOT, folder.path))).rejects.toThrow("no bundle");
  expect(build).toHaveBeenCalled();
  expect(stop).toHaveBeenCalledOnce();
});
