// The file that a caller names, if all of its bytes have arrived, it has not ended, and the caller may see it.

import { type FileReader, type FileRecord, isReadable, maySee } from "../../domain/file/file.ts";
import type { Job } from "../../domain/job/job.ts";
import { notFound, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";
import { seesJobsOf } from "./reading.ts";

export const readerOf = ({ caller }: Turn): FileReader => ({ role: caller.role, keyId: caller.keyId });

/** The open jobs of the caller's workers. */
function* heldJobs(turn: Turn): Generator<Job> {
  for (const { worker, load } of turn.memory.fleet.members())
    if (load > 0 && worker.keyId === turn.caller.keyId) yield* turn.store.jobs.leasedBy(worker.instance, load);
}

/** A worker sees the files of a job while it holds that job: those that it was given, and those that it stored. */
export const isHeldByCaller = (turn: Turn, file: FileRecord): boolean => {
  if (turn.caller.role !== "worker") return true;
  const job = file.jobId === null ? null : turn.store.jobs.find(file.jobId);
  if (job !== null && seesJobsOf(turn, job.assignedWorker)) return true;
  for (const { files } of heldJobs(turn)) if (files.includes(file.id)) return true;
  return false;
};

/** All of them, newest first. */
export const heldFiles = (turn: Turn): FileRecord[] => {
  const ids = new Set<string>();
  for (const { files, resultFiles, resultFile } of heldJobs(turn))
    for (const id of [...files, ...resultFiles.map((file) => file.id), ...(resultFile === null ? [] : [resultFile.id])])
      ids.add(id);
  const found = [...ids].flatMap((id) => findReadable(turn, id) ?? []);
  return found.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
};

/** For any caller. */
export const findReadable = (turn: Turn, id: string): FileRecord | null => {
  const file = turn.store.files.find(id);
  return file !== null && isReadable(file, turn.nowAt) ? file : null;
};

/** A file that the caller may not see is not found. */
export const findVisible = (turn: Turn, id: string): Result<FileRecord, Refusal> => {
  const file = findReadable(turn, id);
  const isVisible = file !== null && maySee(readerOf(turn), file, isHeldByCaller(turn, file));
  return isVisible ? ok(file) : err(notFound("file", id));
};
