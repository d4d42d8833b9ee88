// Builds everything that serving, deploying and testing need: the dashboard, the packages, then the bundle that
// contains them.

import { ensureDashboard } from "../self-host/build/dashboard.ts";
import { ensurePackage } from "../self-host/build/package.ts";
import { loadProject } from "../self-host/build/project.ts";
import { canBuild } from "../self-host/build/stamp.ts";
import { ensureWheel } from "../self-host/build/wheel.ts";
import { ensureWorkerBundle } from "../self-host/build/worker-bundle.ts";
import { runScript } from "../self-host/exit-error.ts";
import { ROOT } from "../self-host/run-command.ts";
import { withLock } from "./lock.mjs";

/**
 * Builds what has changed; calls `onBuilt` with each part that was built. One process of this checkout at a time,
 * because two would write into each other's files.
 */
export const buildAll = (onBuilt: (part: string) => void = () => {}): Promise<void> =>
  canBuild() ? withLock("build", ROOT, () => buildEach(onBuilt)) : buildEach(onBuilt);

const buildEach = async (onBuilt: (part: string) => void): Promise<void> => {
  await loadProject();
  // In this order, because the bundle step needs the assets' directory.
  if (await ensureDashboard()) onBuilt("dashboard");
  if (await ensurePackage()) onBuilt("package for workers and clients");
  if (await ensureWheel()) onBuilt("package for Python");
  if (await ensureWorkerBundle()) onBuilt("edge worker");
};

if (import.meta.main) {
  await runScript(async () => {
    await buildAll((part) => console.log(`Built the ${part}.`));
    return 0;
  });
}
