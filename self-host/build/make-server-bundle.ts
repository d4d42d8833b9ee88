// Bundles the server and the scripts beside it for Node. Only workerd stays a package, because it is a program.

import { rmSync } from "node:fs";
import path from "node:path";
import { build, stop } from "esbuild";
import { ROOT } from "../run-command.ts";
import { SERVER_DIRECTORY } from "./places.ts";
import { REQUIRE } from "./require-banner.ts";

/** Its entries by the names that they get. */
export const bundleServer = async (entries: Readonly<Record<string, string>>): Promise<void> => {
  rmSync(path.join(ROOT, SERVER_DIRECTORY), { recursive: true, force: true });
  try {
    await build({
      absWorkingDir: ROOT,
      entryPoints: { ...entries },
      outdir: SERVER_DIRECTORY,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      target: "node22",
      external: ["workerd"],
      banner: { js: REQUIRE },
      logLevel: "silent",
    });
  } finally {
    // Its service would run for as long as this process.
    await stop();
  }
};
