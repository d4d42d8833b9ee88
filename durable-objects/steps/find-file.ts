// The file that a caller names, if all of its bytes have arrived, it has not ended, and the caller may see it.

import { type FileReader, type FileRecord, isReadable, maySee } from "../../domain/file/file.ts";
import { notFound, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";
import { mayRead as mayReadJob } from "./reading.ts";

export const readerOf = ({ caller }: Turn): FileReader => ({ role: caller.role, keyId: caller.keyId });

/** A worker sees the files of a job while it holds that job. */
export const isHeldByCaller = (turn: Turn, file: FileRecord): boolean => {
  const job = file.jobId === null ? null : turn.store.jobs.find(file.jobId);
  return job !== null && mayReadJob(turn, job);
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
