// The npm package `signalbox`, built when its sources have changed. The builder is loaded only then, because a
// container with a ready package does not have it.

import { DASHBOARD_DIRECTORY } from "./dashboard.ts";
import { buildIfChanged } from "./stamp.ts";

/** What is in it, unpacked. */
export const PACKAGE_DIRECTORY = "dist/package";
/** In the dashboard's folder, so that it is a static asset both self-hosted and deployed. */
const PACKAGE_FILE = `${DASHBOARD_DIRECTORY}/signalbox.tgz`;

export const PACKAGE_INPUTS: readonly string[] = [
  "cli",
  "sdk",
  "worker",
  "contract",
  "domain",
  "log",
  "providers",
  "self-host/build",
  "LICENSE",
  "package.json",
  "package-lock.json",
  "tsconfig.base.json",
];

export const ensurePackage = (): Promise<boolean> =>
  buildIfChanged({ stamp: "dist/package.stamp", product: PACKAGE_FILE, inputs: PACKAGE_INPUTS }, async () => {
    const { makePackage } = await import("./make-package.ts");
    await makePackage(PACKAGE_FILE, PACKAGE_DIRECTORY);
  });
