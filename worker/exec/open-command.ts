// The runtime of `--exec`, in the mode that was asked for.

import type { Runtime } from "../calls/runtime.ts";
import { coordinatorFiles, type JobFiles } from "../job-files.ts";
import type { ExecSettings } from "./exec-settings.ts";
import { createJobCommand } from "./job-command.ts";
import { removeLeftFolders } from "./left-folders.ts";
import { createLineCommand } from "./line-command.ts";

/** Of the worker's settings. */
type Needed = { apiUrl: string; apiKey: string; models: readonly string[]; concurrency: number };

export const openCommand = (
  { mode, ...exec }: ExecSettings,
  { apiUrl, apiKey, models, concurrency }: Needed,
  log: (line: string) => void,
  files: JobFiles = coordinatorFiles({ apiUrl, apiKey }),
): Runtime => {
  const env = process.env;
  void removeLeftFolders().then((count) => {
    if (count > 0) log(`removed ${count === 1 ? "a folder" : `${count} folders`} of a worker that was killed`);
  });
  const options = { ...exec, concurrency, offeredModels: models, apiUrl, files, env, log };
  return wholeRuns(mode === "job" ? createJobCommand(options) : createLineCommand(options));
};

/** The worker's process ends when it has closed: by then the folders of its last jobs, with their prompts, are gone. */
const wholeRuns = (runtime: Runtime): Runtime => {
  const running = new Set<Promise<unknown>>();
  return {
    ...runtime,
    run: async (task, options) => {
      const run = runtime.run(task, options);
      running.add(run);
      try {
        return await run;
      } finally {
        running.delete(run);
      }
    },
    close: async () => {
      await runtime.close?.();
      await Promise.allSettled(running);
    },
  };
};
