// The npm package `signalbox`, built where its sources have changed. What builds it is loaded then and only then: a
// container that serves a ready package does not have it.

import { DASHBOARD_DIRECTORY } from "./dashboard.ts";
import { buildIfChanged } from "./stamp.ts";

/** Beside the dashboard, so that it is a static asset self-hosted and deployed. */
export const PACKAGE_FILE = `${DASHBOARD_DIRECTORY}/signalbox.tgz`;

const INPUTS = [
  "cli",
  "sdk",
  "worker",
  "contract",
  "domain",
  "scripts/build",
  "LICENSE",
  "package.json",
  "package-lock.json",
  "tsconfig.base.json",
];

export function ensurePackage(): Promise<boolean> {
  return buildIfChanged({ stamp: "dist/package.stamp", product: PACKAGE_FILE, inputs: INPUTS }, async () => {
    const { makePackage } = await import("./make-package.ts");
    await makePackage(PACKAGE_FILE);
  });
}
