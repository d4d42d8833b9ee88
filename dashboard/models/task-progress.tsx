// How far a model task is: a bar where the worker says how much there is, and words.

import type { ModelTaskResource } from "../../contract/fleet/model-task.ts";
import { bytesText, duration, wholePercent } from "../format.ts";
import { shareOf } from "./model-table.ts";

const DOING: Record<ModelTaskResource["action"], string> = {
  pull: "pulling",
  load: "loading",
  unload: "unloading",
  delete: "deleting",
};

export const doingOf = ({ action, status }: ModelTaskResource): string =>
  status === "queued" ? `${action} queued` : DOING[action];

const leftMs = ({ progress }: ModelTaskResource): number | null => {
  const { completed_bytes: done, total_bytes: all, bytes_per_second: rate } = progress;
  return done === undefined || all === undefined || !rate ? null : ((all - done) / rate) * 1000;
};

/** `4.1 MiB a second, 20 s left`; empty where the worker does not say. */
export const paceOf = (task: ModelTaskResource): string => {
  const { bytes_per_second: rate } = task.progress;
  const left = leftMs(task);
  return [
    ...(rate === undefined ? [] : [`${bytesText(Math.round(rate))} a second`]),
    ...(left === null ? [] : [`${duration(left)} left`]),
  ].join(", ");
};

export const TaskBar = ({ task }: { task: ModelTaskResource }) => {
  const share = shareOf(task);
  if (share === null) return null;
  const percent = wholePercent(share);
  return (
    <svg
      class="task-bar"
      viewBox="0 0 100 8"
      preserveAspectRatio="none"
      role="progressbar"
      aria-label={`${doingOf(task)} ${task.model} on ${task.worker}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <rect width={share * 100} height="8" />
    </svg>
  );
};
