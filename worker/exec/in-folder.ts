// A job's run in a folder of its own with the job's files, in either mode. What the worker's machine or the way to the
// coordinator lacks costs the job no failure for good: it is given back, or tried again.

import { failed, type JobTask, type Outcome } from "../calls/runtime.ts";
import { type ReceivedFile, receiveFiles } from "../job-files.ts";
import { JobFolder } from "./job-folder.ts";
import type { ExecOptions } from "./options.ts";

export const neverReached = (code: string, message: string): Outcome => ({
  ok: false,
  error: { code, message, retryable: true },
  neverReached: true,
});

type InFolder<Ready> = {
  /** Makes of the job's files what its command is given. */
  prepare: (folder: JobFolder, files: readonly ReceivedFile[]) => Promise<Ready> | Ready;
  run: (folder: JobFolder, ready: Ready) => Promise<Outcome>;
};

/** Removes the folder afterwards. */
export const inFolder = async <Ready>(
  exec: Pick<ExecOptions, "apiUrl" | "log">,
  { job }: JobTask,
  signal: AbortSignal,
  { prepare, run }: InFolder<Ready>,
): Promise<Outcome> => {
  let folder: JobFolder;
  try {
    folder = await JobFolder.create();
  } catch (error) {
    return neverReached("no_folder", `no folder for the job could be made: ${(error as Error).message}`);
  }
  try {
    let ready: Ready;
    try {
      ready = await prepare(folder, await receiveFiles(job, exec, folder.files, signal));
    } catch (error) {
      signal.throwIfAborted();
      const message = `The job's files: ${(error as Error).message}`;
      return failed({ code: "input_unavailable", message, retryable: true });
    }
    signal.throwIfAborted();
    return await run(folder, ready);
  } finally {
    await folder.remove().catch((error: Error) => exec.log(`job ${job.id}: its folder stays: ${error.message}`));
  }
};
