// What a runtime is run with when a test needs nothing from it.

import type { RunOptions, Task } from "../../worker/runtimes/runtime.ts";
import { assignedJob } from "./job-fixture.ts";

export function quietRun(options: Partial<RunOptions> = {}): RunOptions {
  return {
    configuredModel: null,
    offeredModels: [],
    signal: new AbortController().signal,
    onProgress: () => {},
    emit: () => undefined,
    ...options,
  };
}

export function taskOf(task: Partial<Task> = {}): Task {
  const job = assignedJob({ id: "j" });
  return { prompt: "Say hello.", input: null, model: null, api: null, headers: {}, job, timeoutSeconds: null, ...task };
}
