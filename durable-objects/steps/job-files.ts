// The files that a job's worker gets, and the file that may hold its result. A job's files are checked when it is
// created; a file that is gone later fails the job before a worker gets it.

import type { LeasedJob } from "../../contract/fleet/worker.ts";
import { timeoutOf } from "../../domain/config.ts";
import { RESULT_PURPOSE } from "../../domain/file/file.ts";
import type { Job } from "../../domain/job/job.ts";
import { failForFile } from "../../domain/job/lease.ts";
import type { NewJob } from "../../domain/job/new-job.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import { invalid, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";
import { findReadable, findVisible } from "./find-file.ts";

/** Every file of a new job, of a batch's jobs or of a schedule's is there, and its creator may see it. */
export const refuseGoneFiles = (
  turn: Turn,
  asked: readonly Pick<NewJob, "files">[],
  inBatch = false,
): Result<null, Refusal> => {
  for (const [at, { files = [] }] of asked.entries()) {
    for (const [index, id] of files.entries()) {
      if (findVisible(turn, id).ok) continue;
      const path = inBatch ? `jobs.${at}.files.${index}` : `files.${index}`;
      return err(invalid(path, `there is no file ${JSON.stringify(id)}`));
    }
  }
  return ok(null);
};

export const goneFile = (turn: Turn, { files }: Pick<Job, "files">): string | undefined =>
  files.find((id) => findReadable(turn, id) === null);

/** For a job that has not started. Returns whether it failed. */
export const failIfFileGone = (turn: Turn, job: Job): boolean => {
  const gone = goneFile(turn, job);
  if (gone === undefined) return false;
  turn.record(job, failForFile(job, gone, turn.nowAt));
  return true;
};

/** With links that last as long as the job may. */
export const leasedFiles = (turn: Turn, job: Job): LeasedJob["files"] => {
  if (job.files.length === 0) return [];
  const { config } = turn.memory;
  const untilAt = turn.nowAt + config.jobs.acceptWithinMs + (timeoutOf(config, job) ?? DAY_MS);
  return job.files.flatMap((id) => {
    const file = findReadable(turn, id);
    if (file === null) return [];
    const { name, bytes, contentType, origin } = file;
    return [
      { id, name, bytes, content_type: contentType, url: `${turn.originOf(origin)}${turn.signLink(file, untilAt)}` },
    ];
  });
};

export interface ResultElsewhere {
  readonly resultFile?: string | null;
  /** Its client had all of it as events. */
  readonly streamedBytes?: number | null;
}

/** The file that a report names as the result: its worker must have stored it for this job. */
export const storedResult = (
  turn: Turn,
  job: Job,
  { resultFile = null, streamedBytes = null }: ResultElsewhere,
): Result<Job["resultFile"], Refusal> => {
  if (streamedBytes !== null && (job.api === null || !job.stream))
    return err(invalid("result_bytes", "is only for the streamed answer of a client's request: give result_file"));
  if (resultFile === null || job.resultFile?.id === resultFile) return ok(job.resultFile);
  const file = findReadable(turn, resultFile);
  const isResult = file?.jobId === job.id && file.purpose === RESULT_PURPOSE;
  return file !== null && isResult
    ? ok({ id: file.id, bytes: file.bytes })
    : err({ code: "result_file_unknown", id: resultFile, jobId: job.id });
};
