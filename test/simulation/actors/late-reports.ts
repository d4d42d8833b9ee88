// Workers' other ways to report: a result that claims the next jobs at once, and what an attempt spent that was taken
// from them.

import type { StepKind } from "../plan.ts";
import { pickOf } from "../platform/random.ts";
import type { Action } from "../world.ts";
import { completion, noteSign, say, takeLease, type WorkerAction, withWorker } from "./workers.ts";

const completeAndClaim: WorkerAction = async (world, picked, chances) => {
  const worker = picked.held.size > 0 ? picked : (world.workers.find(({ held }) => held.size > 0) ?? picked);
  const found = pickOf([...worker.held], chances[1]);
  if (found === undefined) return;
  const [id, { lease }] = found;
  worker.held.delete(id);
  const { request } = completion(world, id, lease, chances[2]);
  noteSign(world, worker);
  const max = 1 + Math.floor(chances[3] * 2);
  const answer = await world.command(worker.credential, "completeAndClaim", { ...request, max } as never);
  if (!answer?.ok) return;
  world.model.acknowledge(id, lease);
  for (const job of (answer.value as { jobs: Parameters<typeof takeLease>[2][] }).jobs) takeLease(world, worker, job);
};

/** Of any attempt that it reported on; the object counts those that it took away, once. */
const tellLateSpending: WorkerAction = async (world, worker, chances) => {
  const report = pickOf(worker.sent, chances[1]);
  if (report === undefined) return;
  const { id, lease } = report.request;
  const usage = chances[2] < 0.3 ? {} : { usage: { input_tokens: Math.floor(chances[2] * 1000), output_tokens: 3 } };
  const cost = chances[3] < 0.6 ? {} : { cost_usd: Math.floor(chances[3] * 1000) / 1e6 };
  await say(world, worker, { type: "job.spent", job_id: id, lease, ...usage, ...cost });
};

export const LATE_REPORTS = {
  "complete and claim": withWorker(completeAndClaim),
  "tell late spending": withWorker(tellLateSpending),
} satisfies Partial<Record<StepKind, Action>>;
