// Which jobs a key may read: a worker key those of its workers, a client key those it created.

import type { Job } from "../../domain/job/job.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";

export const allowReading = (turn: Turn, job: Job): Result<null, Refusal> => {
  const { role, keyId } = turn.caller;
  if (role === "client" && (job.keyId === null || job.keyId !== keyId))
    return err({ code: "forbidden", detail: "a client key reads and cancels only the jobs that it created" });
  if (seesJobsOf(turn, job.assignedWorker)) return ok(null);
  return err({ code: "forbidden", detail: "a worker key reads only the jobs of its own workers" });
};

/** A key with role worker sees the jobs of its own workers. */
export const seesJobsOf = ({ caller, memory }: Turn, worker: string | null): boolean =>
  caller.role !== "worker" || memory.fleet.get(worker)?.worker.keyId === caller.keyId;
