// The status of a job, a worker or a schedule as a lamp and a word.

import type { WorkerResource } from "../../contract/fleet/worker.ts";
import type { LiveJob } from "../../contract/live.ts";
import type { DeliveryResource, WebhookResource } from "../../contract/webhook.ts";
import { standingOf } from "../../contract/words/values.ts";
import { type Aspect, Lamp } from "./lamp.tsx";

const JOB: Record<LiveJob["status"], Aspect> = {
  pending: "dark",
  assigned: "caution",
  running: "clear",
  completed: "done",
  failed: "stop",
  cancelled: "dark",
};

const WORKER: Record<WorkerResource["status"], Aspect> = {
  online: "clear",
  idle: "clear",
  busy: "caution",
  offline: "dark",
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

/** What an operator must know first: why it takes no jobs, else how busy it is. */
export const WorkerStatus = ({ worker }: { worker: Pick<WorkerResource, "status" | "paused" | "unavailable"> }) => {
  const standing = standingOf(worker);
  if (standing === "paused") return <Status aspect="stop" word="paused" />;
  if (standing === "unavailable") return <Status aspect="caution" word="unavailable" />;
  const aspect = WORKER[worker.status];
  return <Status aspect={aspect} word={worker.status} tone={standing === "offline" ? "dim" : aspect} />;
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
