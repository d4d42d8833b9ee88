// The table of models and workers: what each worker has of each model, with a button where something can be done.

import { useState } from "preact/hooks";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { bytesText, wholePercent } from "../format.ts";
import { type Aspect, Lamp } from "../parts/lamp.tsx";
import { WorkerStatus } from "../parts/status.tsx";
import { href } from "../router.ts";
import { mayOperate } from "../state/session.ts";
import { actionsFor, ModelDialog } from "./model-dialog.tsx";
import { type ModelCell, type ModelRow, shareOf } from "./model-table.ts";
import { doingOf, TaskBar } from "./task-progress.tsx";

const MB = 1024 * 1024;
const ASPECTS: Record<ModelCell["state"], Aspect | null> = { loaded: "clear", "on disk": "dark", absent: null };

const sizeOf = ({ state, bytes, vramMb }: ModelCell): string | null => {
  if (state === "loaded" && vramMb !== null) return bytesText(vramMb * MB);
  return bytes === null ? null : bytesText(bytes);
};

const says = (cell: ModelCell): string => {
  if (cell.task === null) return cell.state;
  const share = shareOf(cell.task);
  return share === null ? doingOf(cell.task) : `${doingOf(cell.task)} ${wholePercent(share)} %`;
};

const Shown = ({ cell }: { cell: ModelCell }) => {
  const aspect = ASPECTS[cell.state];
  const size = sizeOf(cell);
  return (
    <>
      <span class={`status${cell.state === "absent" && cell.task === null ? " status-dim" : ""}`}>
        {aspect !== null && <Lamp aspect={aspect} />}
        {says(cell)}
      </span>
      {cell.task !== null ? <TaskBar task={cell.task} /> : size !== null && <span class="row-note dim">{size}</span>}
    </>
  );
};

interface CellProps {
  readonly model: string;
  readonly worker: WorkerResource;
  readonly cell: ModelCell;
  readonly onOpen: () => void;
}

const Cell = ({ model, worker, cell, onOpen }: CellProps) => {
  const mayAct = mayOperate.value && (cell.task !== null || actionsFor(worker, cell).length > 0);
  const isAbsent = cell.state === "absent" && cell.task === null;
  return (
    <td class={isAbsent ? "model-cell model-absent" : "model-cell"} data-worker={worker.instance}>
      {mayAct ? (
        <button type="button" class="model-act" onClick={onOpen}>
          <span class="visually-hidden">
            {model} on {worker.instance}:{" "}
          </span>
          <Shown cell={cell} />
        </button>
      ) : (
        <div class="model-says">
          <Shown cell={cell} />
        </div>
      )}
    </td>
  );
};

const memoryOf = ({ hardware }: WorkerResource): string | null => {
  const total = (hardware?.gpus ?? []).reduce((sum, gpu) => sum + gpu.total_mb, 0);
  if (total === 0) return null;
  const used = (hardware?.gpus ?? []).reduce((sum, gpu) => sum + gpu.used_mb, 0);
  return `GPU ${bytesText(used * MB)} of ${bytesText(total * MB)}`;
};

const Head = ({ worker }: { worker: WorkerResource }) => (
  <th scope="col" class="model-head">
    <a href={href(["fleet", worker.instance])}>{worker.instance}</a>
    <WorkerStatus worker={worker} />
    {memoryOf(worker) !== null && <span class="row-note">{memoryOf(worker)}</span>}
    {worker.can === null && <span class="row-note">not managed</span>}
  </th>
);

interface MatrixProps {
  readonly rows: readonly ModelRow[];
  readonly workers: readonly WorkerResource[];
  readonly onDone: () => void;
}

export const ModelMatrix = ({ rows, workers, onDone }: MatrixProps) => {
  const [open, setOpen] = useState<readonly [model: string, instance: string] | null>(null);
  const row = rows.find(({ model }) => model === open?.[0]);
  const column = workers.findIndex(({ instance }) => instance === open?.[1]);
  const [worker, cell] = [workers[column], row?.cells[column]];
  return (
    <div class="table-box">
      <table class="table models-table">
        <caption class="visually-hidden">Models and workers</caption>
        <thead>
          <tr>
            <th scope="col">Model</th>
            {workers.map((one) => (
              <Head key={one.instance} worker={one} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ model, cells }) => (
            <tr key={model}>
              <th scope="row" class="model-name">
                {model}
              </th>
              {workers.map((one, at) => {
                const shown = cells[at];
                return shown === undefined ? null : (
                  <Cell
                    key={one.instance}
                    model={model}
                    worker={one}
                    cell={shown}
                    onOpen={() => setOpen([model, one.instance])}
                  />
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {row !== undefined && worker !== undefined && cell !== undefined && (
        <ModelDialog model={row.model} worker={worker} cell={cell} onDone={onDone} onClose={() => setOpen(null)} />
      )}
    </div>
  );
};
