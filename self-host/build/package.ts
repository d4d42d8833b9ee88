// The npm package `signalbox`, built when its sources have changed. The builder is loaded only then, because it takes
// long to load.

import { DASHBOARD_DIRECTORY, PACKAGE_DIRECTORY } from "./places.ts";
import { buildIfChanged, type Step } from "./stamp.ts";

export const PACKAGE: Step = {
  stamp: "dist/package.stamp",
  // In the dashboard's folder, so that it is a static asset both self-hosted and deployed.
  product: `${DASHBOARD_DIRECTORY}/signalbox.tgz`,
  inputs: [
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
  ],
};

export const ensurePackage = (): Promise<boolean> =>
  buildIfChanged(PACKAGE, async () => {
    const { makePackage } = await import("./make-package.ts");
    await makePackage(PACKAGE.product, PACKAGE_DIRECTORY);
  });
