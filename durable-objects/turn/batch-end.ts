// The end of a line of a batch, noted in the turn that ends its job: its answer is on its way to the object of the
// batch's file before the job can leave.

import { errorBody } from "../../contract/front-door/dialect.ts";
import { doorErrorOf } from "../../contract/front-door/door-status.ts";
import { type BatchRecord, finishLines, isSpent, noteLineEnd } from "../../domain/batch/batch.ts";
import type { LineAnswer } from "../../domain/batch/line-answer.ts";
import type { Job } from "../../domain/job/job.ts";
import type { Json } from "../../domain/words/json.ts";
import type { Store } from "../store/open.ts";
import type { Effects } from "./effects.ts";
import type { Memory } from "./memory/memory.ts";

const OK = 200;
export const BATCH_EXPIRED = "batch_expired";

const answerOf = (job: Job, line: number, result: Json): LineAnswer => {
  const named = { line, jobId: job.id, resultFile: job.resultFile };
  if (job.status === "completed") {
    const body = job.resultFile === null ? JSON.stringify(result) : null;
    return { ...named, state: "completed", status: OK, body };
  }
  if (job.status === "cancelled") {
    const state = job.error?.code === BATCH_EXPIRED ? "expired" : "cancelled";
    return { ...named, state, status: null, body: null };
  }
  const error = doorErrorOf(job.error);
  return { ...named, state: "failed", status: error.status, body: JSON.stringify(errorBody(job.api, error, job.id)) };
};

/** What it reads and writes of a turn. */
interface LineTurn {
  readonly memory: Pick<Memory, "batches">;
  readonly store: Pick<Store, "lineEnds">;
  readonly effects: Pick<Effects, "batches">;
  readonly nowAt: number;
  putBatch(batch: BatchRecord): void;
}

export const noteEndOfLine = (turn: LineTurn, job: Job, result: Json): void => {
  const batch = turn.memory.batches.open.get(job.batch ?? "");
  if (batch === undefined || job.batchPlace === null) return;
  turn.store.lineEnds.put(batch.id, answerOf(job, job.batchPlace.line, result));
  turn.effects.batches.add(batch.id);
  const outcome = job.status === "completed" || job.status === "failed" ? job.status : "cancelled";
  const counted = noteLineEnd(
    batch,
    {
      model: job.batchPlace.model,
      outcome,
      worker: job.assignedWorker,
      errorCode: outcome === "failed" ? (job.error?.code ?? null) : null,
      usage: job.usage,
    },
    turn.nowAt,
  );
  const isOver = counted.ending === null && isSpent(counted);
  const ending = counted.status === "cancelling" ? "cancelled" : "completed";
  turn.putBatch(isOver ? finishLines(counted, ending, turn.nowAt) : counted);
};
