// Model tasks, newest first: what workers do and did with their models.

import type { ModelTaskResource } from "../../contract/fleet/model-task.ts";
import { api } from "../api.ts";
import { bytesText } from "../format.ts";
import { ForOperators } from "../parts/for-operators.tsx";
import type { Aspect } from "../parts/lamp.tsx";
import { Status } from "../parts/status.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { attempt } from "../state/notice.ts";
import { isOpenTask } from "./model-table.ts";
import { paceOf, TaskBar } from "./task-progress.tsx";

const ASPECTS: Record<ModelTaskResource["status"], Aspect> = {
  queued: "dark",
  running: "clear",
  done: "done",
  failed: "stop",
  cancelled: "dark",
};

const detailOf = (task: ModelTaskResource): string => {
  const { completed_bytes: done, total_bytes: all, stage } = task.progress;
  if (task.status === "queued") return "";
  const size = done === undefined || all === undefined ? "" : `${bytesText(done)} of ${bytesText(all)}`;
  return [stage, size, paceOf(task)].filter(Boolean).join(" · ");
};

const Task = ({ task, onDone }: { task: ModelTaskResource; onDone: () => void }) => {
  const cancel = async (): Promise<void> => {
    await attempt(`cancel ${task.id}`, () => api.models.cancel(task.id), "The task is cancelled.");
    onDone();
  };
  return (
    <li class="model-task">
      <Status
        aspect={ASPECTS[task.status]}
        word={task.status}
        isLit={task.status === "running"}
        tone={ASPECTS[task.status]}
      />
      <span class="task-says">
        {task.action} <strong>{task.model}</strong> on <a href={href(["fleet", task.worker])}>{task.worker}</a>
        {isOpenTask(task) && <TaskBar task={task} />}
        {isOpenTask(task) && detailOf(task) !== "" && <span class="row-note dim num">{detailOf(task)}</span>}
        {task.error !== null && (
          <span class="row-note tone-stop">
            <code>{task.error.code}</code>: {task.error.message}
          </span>
        )}
      </span>
      <span class="dim">
        <Time at={task.finished_at ?? task.created_at} />
      </span>
      {isOpenTask(task) && (
        <ForOperators>
          <button
            type="button"
            class="button small"
            aria-label={`Cancel: ${task.action} ${task.model} on ${task.worker}`}
            onClick={cancel}
          >
            Cancel
          </button>
        </ForOperators>
      )}
    </li>
  );
};

export const TaskList = ({ tasks, onDone }: { tasks: readonly ModelTaskResource[]; onDone: () => void }) => (
  <ul class="model-tasks">
    {tasks.map((task) => (
      <Task key={task.id} task={task} onDone={onDone} />
    ))}
  </ul>
);
