// The status of a job, a worker or a schedule as a lamp and a word.

import type { WorkerResource } from "../../contract/fleet/worker.ts";
import type { LiveJob } from "../../contract/live.ts";
import type { DeliveryResource, WebhookResource } from "../../contract/webhook.ts";
import { standingOf, type WorkerState } from "../../contract/words/values.ts";
import { CellSign } from "./cell-shape.tsx";
import { type Aspect, Lamp } from "./lamp.tsx";

const JOB: Record<LiveJob["status"], Aspect> = {
  pending: "dark",
  assigned: "caution",
  running: "clear",
  completed: "done",
  failed: "stop",
  cancelled: "dark",
};

export const Status = ({
  aspect,
  word,
  isLit = false,
  tone = aspect,
}: {
  aspect: Aspect;
  word: string;
  isLit?: boolean;
  tone?: string;
}) => (
  <span class={`status status-${tone}`}>
    <Lamp aspect={aspect} isLit={isLit} />
    {word}
  </span>
);

export const JobStatus = ({ status }: { status: LiveJob["status"] }) => (
  <Status
    aspect={JOB[status]}
    word={status}
    isLit={status === "running"}
    tone={status === "cancelled" ? "dim" : JOB[status]}
  />
);

const WORKER_TONES: Partial<Record<WorkerState, string>> = {
  paused: "stop",
  unavailable: "caution",
  offline: "dim",
  idle: "dim",
};

/** What an operator must know first: why it takes no jobs, else how busy it is. By the signs of the fleet's grid. */
export const WorkerStatus = ({ worker }: { worker: Pick<WorkerResource, "status" | "paused" | "unavailable"> }) => {
  const state = standingOf(worker) ?? worker.status;
  return (
    <span class={`status status-${WORKER_TONES[state] ?? "plain"}`}>
      <CellSign state={state} />
      {state}
    </span>
  );
};

export const ScheduleStatus = ({ status }: { status: string }) => (
  <Status aspect={status === "active" ? "clear" : "caution"} word={status} />
);

export const OutcomeStatus = ({ outcome }: { outcome: string }) => {
  const aspect: Aspect =
    outcome === "created" || outcome === "completed" ? "done" : outcome === "skipped" ? "caution" : "stop";
  return <Status aspect={aspect} word={outcome} />;
};

const DELIVERY: Record<DeliveryResource["status"], Aspect> = { pending: "caution", delivered: "done", failed: "stop" };

export const DeliveryStatus = ({ status }: { status: DeliveryResource["status"] }) => (
  <Status aspect={DELIVERY[status]} word={status} />
);

export const WebhookStatus = ({ webhook }: { webhook: WebhookResource }) => {
  if (!webhook.enabled) return <Status aspect="stop" word="disabled" />;
  return webhook.failing_since === null ? (
    <Status aspect="clear" word="enabled" />
  ) : (
    <Status aspect="caution" word="failing" />
  );
};
