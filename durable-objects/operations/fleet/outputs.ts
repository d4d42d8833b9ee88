// What workers store of the jobs that they hold: outputs, and results too large for a row. Only the holder of the lease
// stores anything; what it never names or finishes ends by itself.

import { type FileResource, presentFile } from "../../../contract/file.ts";
import { FILE_LIFE_MS, MAX_RESULT_FILES, RESULT_PURPOSE } from "../../../domain/file/file.ts";
import type { Job } from "../../../domain/job/job.ts";
import { addOutput } from "../../../domain/job/lease.ts";
import { invalid, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import type { Turn } from "../../turn/turn.ts";
import { type Announced, type ArrivedFile, announce, arrive, type NewFile } from "../files/files.ts";
import { findReported, type LeaseReport } from "./report.ts";

/** Only a client's own request may have another answer. */
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;

/** A worker begins to send an output of a job that it holds, or its result. */
export const announceOutput = (turn: Turn, request: NewFile & { job: LeaseReport }): Result<Announced, Refusal> => {
  const { job: held, ...file } = request;
  const found = findReported(turn, held);
  if (!found.ok) return found;
  const job = found.value;
  if (job.resultFiles.length >= MAX_RESULT_FILES)
    return err(invalid("", `a job has at most ${MAX_RESULT_FILES} result files: put several into one archive`));
  return announce(turn, file, { jobId: job.id, ownerKeyId: job.keyId });
};

/** Its bytes are there. An output then stands in the job; a result waits for the report that names it. */
export const finishOutput = (
  turn: Turn,
  request: Omit<ArrivedFile, "lifeMs" | "purpose"> & { job: LeaseReport; isResult: boolean },
): Result<FileResource, Refusal> => {
  const { job: held, isResult, ...arrived } = request;
  const found = findReported(turn, held);
  if (!found.ok) return found;
  const purpose = isResult ? RESULT_PURPOSE : null;
  const { id, name, bytes, contentType } = arrived;
  if (isResult && found.value.api === null && !JSON_TYPE.test(contentType))
    return err({ code: "unsupported_media_type", expected: "application/json" });
  const decided = addOutput(found.value, held.lease, { id, name, bytes, contentType }, turn.nowAt);
  if (!decided.ok) return decided;
  // A batch's file gets a copy of its own.
  const isAnswer = isResult && found.value.api !== null && found.value.batch === null;
  const lifeMs = isAnswer ? answerLifeMs(turn, found.value) : FILE_LIFE_MS.output;
  const file = arrive(turn, { ...arrived, purpose, lifeMs });
  if (!file.ok) return file;
  if (!isResult) turn.record(found.value, decided.value);
  return ok(presentFile(file.value));
};

/** The answer to a client's request is kept only until the client has it, unless it is stored. */
const answerLifeMs = (turn: Turn, { id }: Job): number => {
  const response = turn.store.responses.find(id);
  return response === null ? FILE_LIFE_MS.answer : response.expiresAt - turn.nowAt;
};
