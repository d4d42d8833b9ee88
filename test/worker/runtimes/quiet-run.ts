// What a runtime is run with when a test needs nothing from it.

import type { RunOptions, Stored, Task } from "../../../worker/calls/runtime.ts";
import { assignedJob } from "../job-fixture.ts";

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

/** For runs whose results are small. */
export const keepsNothing = async (): Promise<Stored> => {
  throw new Error("nothing is kept in this test");
};

/** For jobs without files. */
export const hasNoFiles = async (): Promise<AsyncIterable<Uint8Array>> => {
  throw new Error("no job has files in this test");
};

export function taskOf(task: Partial<Task> = {}): Task {
  const job = assignedJob({ id: "j" });
  return { prompt: "Say hello.", input: null, model: null, api: null, headers: {}, job, timeoutSeconds: null, ...task };
}
