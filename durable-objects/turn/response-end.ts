// The end of a stored response, noted in the turn that ends its job: its answer is there before the job can leave.

import type { ResponseEnd } from "../../domain/front-door/stored-response.ts";
import type { Job, JobError } from "../../domain/job/job.ts";
import type { Json } from "../../domain/words/json.ts";
import type { Store } from "../store/open.ts";

export const noteEndOfResponse = (
  { store }: { readonly store: Pick<Store, "responses"> },
  job: Job,
  result: Json,
): void => {
  const stored = store.responses.find(job.id);
  if (stored === null) return;
  const { resultFile: answerFile } = job;
  const answer = job.status === "completed" && answerFile === null && result !== null ? JSON.stringify(result) : null;
  const bytes = answer?.length ?? answerFile?.bytes ?? 0;
  const end = endOf(job, answer !== null || answerFile !== null);
  store.responses.end({ ...stored, chainBytes: stored.chainBytes + bytes, end }, answer);
};

const endOf = ({ status, error, resultFile: answerFile }: Job, hasAnswer: boolean): ResponseEnd => {
  if (status === "completed" && hasAnswer) return { status, error: null, answerFile };
  if (status === "completed") return { status: "failed", error: NOT_STORED, answerFile };
  return { status: status === "cancelled" ? status : "failed", error, answerFile };
};

/** Its worker gave the answer to the reader of its stream alone. */
const NOT_STORED: JobError = {
  code: "answer_not_stored",
  message: "the worker streamed an answer over 1 MiB and did not store it",
  retryable: false,
};
