// `npm run worker`: the worker process, with its flags and environment.

import { runWorker } from "./run-worker.ts";

process.exit(await runWorker(process.argv.slice(2), process.env));
