// One model on one worker: what it is there, and what the worker takes to be done with it.

import type { ModelTaskRequest } from "../../contract/fleet/model-task.ts";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { api } from "../api.ts";
import { useAttempt } from "../parts/attempt.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Problem } from "../parts/problem.tsx";
import { tell } from "../state/notice.ts";
import type { ModelCell } from "./model-table.ts";
import { doingOf } from "./task-progress.tsx";

type Action = ModelTaskRequest["action"];

const SAYS: Record<Action, string> = { pull: "Pull", load: "Load", unload: "Unload", delete: "Delete" };

/** What makes sense for a model in this state. */
const FITTING: Record<ModelCell["state"], readonly Action[]> = {
  loaded: ["unload", "delete"],
  "on disk": ["load", "pull", "delete"],
  absent: ["pull"],
};

export const actionsFor = ({ can }: WorkerResource, { state, task }: ModelCell): readonly Action[] =>
  task === null ? FITTING[state].filter((action) => can?.includes(action) === true) : [];

interface ModelDialogProps {
  readonly model: string;
  readonly worker: WorkerResource;
  readonly cell: ModelCell;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export const ModelDialog = ({ model, worker, cell, onDone, onClose }: ModelDialogProps) => {
  const { error, isBusy, attempt } = useAttempt();
  const act = (work: () => Promise<unknown>, done: string): Promise<void> =>
    attempt(async () => {
      await work();
      tell(done);
      onDone();
      onClose();
    });
  const { task } = cell;
  const give = (action: Action) =>
    act(
      () => api.models.task(worker.instance, { action, model }),
      `${worker.instance} gets the task: ${action} ${model}.`,
    );
  return (
    <Dialog title={`${model} on ${worker.instance}`} onClose={onClose}>
      <p>{task === null ? `It is ${cell.state}.` : `It is ${cell.state}. Task: ${doingOf(task)}.`}</p>
      <Problem error={error} />
      <div class="dialog-foot">
        <button type="button" class="button" onClick={onClose}>
          Not now
        </button>
        {task !== null && (
          <button
            type="button"
            class="button danger"
            disabled={isBusy}
            onClick={() => act(() => api.models.cancel(task.id), "The task is cancelled.")}
          >
            Cancel the task
          </button>
        )}
        {actionsFor(worker, cell).map((action) => (
          <button
            key={action}
            type="button"
            class={`button ${action === "delete" ? "danger" : "primary"}`}
            disabled={isBusy}
            onClick={() => give(action)}
          >
            {SAYS[action]}
          </button>
        ))}
      </div>
    </Dialog>
  );
};
