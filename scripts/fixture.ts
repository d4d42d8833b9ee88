// `npm run fixture -- 0.1.0`: records a release's data folder, which every later release must be able to read.

import { runScript } from "../self-host/exit-error.ts";
import { buildAll } from "./build.ts";

await runScript(async () => {
  await buildAll();
  await import("../test/upgrade/main.ts");
  return 0;
});
