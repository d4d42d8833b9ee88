// `npm run worker`: the worker process, with its flags and environment.

import { useProxies } from "./proxies.ts";
import { runWorker } from "./run-worker.ts";

try {
  await useProxies();
} catch (error) {
  console.error(`worker: ${(error as Error).message}`);
  process.exit(2);
}
process.exit(await runWorker(process.argv.slice(2), process.env));
