// Everything that serving, deploying and testing need built: the dashboard, the package that is served beside
// it, then the bundle that ships with both.

import { ensureDashboard } from "./build/dashboard.ts";
import { ensurePackage } from "./build/package.ts";
import { ensureWorkerBundle } from "./build/worker-bundle.ts";
import { runScript } from "./exit-error.ts";

/** Builds what changed; `onBuilt` hears of each part that did. */
export async function buildAll(onBuilt: (part: string) => void = () => {}): Promise<void> {
  // In this order: the bundle step refuses to run without the assets' directory.
  if (await ensureDashboard()) onBuilt("dashboard");
  if (await ensurePackage()) onBuilt("package for workers and clients");
  if (await ensureWorkerBundle()) onBuilt("edge worker");
}

if (import.meta.main) {
  await runScript(async () => {
    await buildAll((part) => console.log(`Built the ${part}.`));
    return 0;
  });
}
