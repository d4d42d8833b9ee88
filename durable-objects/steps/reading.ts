// Which jobs a key may read: a worker key those of its workers, a client key those it created.

import type { Job } from "../../domain/job/job.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";

export const allowReading = (turn: Turn, job: Job): Result<null, Refusal> => {
  const { role, keyId } = turn.caller;
  if (role === "client" && (job.keyId === null || job.keyId !== keyId))
    return err({ code: "forbidden", detail: "a client key reads and cancels only the jobs that it created" });
  if (mayRead(turn, job)) return ok(null);
  return err({ code: "forbidden", detail: "a worker key reads only the jobs of its own workers" });
};

/** A key with role worker sees the jobs of its own workers. */
export const mayRead = (turn: Turn, job: Pick<Job, "assignedWorker">): boolean => {
  if (turn.caller.role !== "worker") return true;
  if (job.assignedWorker === null) return false;
  return turn.memory.fleet.get(job.assignedWorker)?.worker.keyId === turn.caller.keyId;
};
