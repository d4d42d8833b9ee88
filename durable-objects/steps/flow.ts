// The flow of a new job, and what it is charged for a lease.

import type { Charge } from "../../domain/job/fair-order.ts";
import { COMMON_FLOW, flowOf, MAX_FLOWS } from "../../domain/job/flows.ts";
import type { Job, JobPayload, Usage } from "../../domain/job/job.ts";
import { type NewJob, requirementsOfNew } from "../../domain/job/new-job.ts";
import { groupKeyOf } from "../../domain/job/queue.ts";
import { shapeKeeper } from "../../domain/words/kept-shape.ts";
import { weightOf } from "../turn/memory/flow-turns.ts";
import type { Turn } from "../turn/turn.ts";
import { inputTokensFor } from "../turn/uncounted.ts";
import { outputBoundOf } from "./demand.ts";

const keepShape = shapeKeeper<NewJob>();

/** The same request with its flow. Once too many flows wait, a further one's jobs take the turns of the common flow. */
export const inFlow = (turn: Turn, asked: NewJob, keyId: string | null = turn.caller.keyId): NewJob => {
  const { fairnessKey = null, user = null } = asked;
  const { flows, config } = turn.memory;
  const flow = flowOf({ keyId, fairnessKey, user }, config.fairness);
  if (flows.waiting < MAX_FLOWS) return keepShape({ ...asked, flow });
  const order = flows.orderOf({ groupKey: groupKeyOf(requirementsOfNew(asked)), priority: asked.priority });
  return { ...asked, flow: (order?.waitingOf(flow) ?? 0) > 0 ? flow : COMMON_FLOW };
};

/** `place`: the order key of the job whose turn it takes. */
export const chargeFor = (turn: Turn, job: Job, payload: JobPayload, place: number): Charge =>
  turn.memory.flows.charge(job, weightOf(turn.store, job.flow), {
    place,
    inputTokens: inputTokensFor(job, payload),
    outputTokens: outputBoundOf(payload.input),
  });

/** The worker has told what the job took; without that, the estimate stays. */
export const correctCharge = (turn: Turn, job: Job, usage: Usage | null): void => {
  if (job.share === null || usage === null) return;
  const { inputTokens, outputTokens } = usage;
  turn.memory.flows.orderOf(job)?.correct(job.flow, job.share, inputTokens + outputTokens, outputTokens);
};
