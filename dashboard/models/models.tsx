// The models of the fleet: which worker has which, what is done with them, and which models waiting jobs
// ask for in vain.

import { useState } from "preact/hooks";
import type { ModelTaskResource } from "../../contract/fleet/model-task.ts";
import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { api } from "../api.ts";
import { plural } from "../format.ts";
import { ForOperators } from "../parts/for-operators.tsx";
import { TextField } from "../parts/form.tsx";
import { Empty, Loading, Page, Panel } from "../parts/page.tsx";
import { offsetInAddress, Pager } from "../parts/pager.tsx";
import { Problem } from "../parts/problem.tsx";
import { Time } from "../parts/time.tsx";
import { href, place, refine } from "../router.ts";
import { hasSnapshot, learning, workers as liveWorkers, modelTasks, queue } from "../state/board.ts";
import { useLoad, useRounds, useSettled, useThrottled } from "../state/load.ts";
import { ModelMatrix } from "./model-matrix.tsx";
import { modelRows, type WantedModel, wantedModels } from "./model-table.ts";
import { PlaceDialog } from "./place-dialog.tsx";
import { TaskList } from "./task-list.tsx";

/** The socket tells of what changes; this is for what it does not know of. */
const REREAD_EVERY_MS = 30_000;
/** At most so often for workers that begin to tell of their models, or stop. */
const REREAD_WORKERS_MS = 2_000;
/** Columns that a table shows on any screen but a phone's. */
const WORKERS_SHOWN = 6;
const TASKS_SHOWN = 20;

const Wanted = ({ wanted, onPlace }: { wanted: readonly WantedModel[]; onPlace: (model: string) => void }) =>
  wanted.length === 0 ? null : (
    <Panel title="Jobs wait for models that no matching worker has" class="panel-caution">
      <ul class="ranked wanted">
        {wanted.map(({ model, count: many, oldestAt }) => (
          <li key={model}>
            <span>
              <code>{model}</code>
              <span class="row-note dim">
                <a href={href(["jobs"], { status: "pending", model })}>{plural(many, "job waits", "jobs wait")}</a>, the
                oldest was created <Time at={oldestAt} />
              </span>
            </span>
            <ForOperators>
              <button type="button" class="button small" aria-label={`Place: ${model}`} onClick={() => onPlace(model)}>
                Place …
              </button>
            </ForOperators>
          </li>
        ))}
      </ul>
    </Panel>
  );

/** What the socket told is newer than what was read. */
const newest = (read: readonly ModelTaskResource[]): readonly ModelTaskResource[] => {
  const all = new Map([...read, ...modelTasks.value.values()].map((task) => [task.id, task]));
  return [...all.values()].sort((one, other) => (one.created_at < other.created_at ? 1 : -1));
};

const tellsModels = ({ loaded, on_disk, can }: WorkerResource): boolean =>
  loaded !== null || on_disk !== null || can !== null;

const useModels = (offset: number, find: string) => {
  const q = useSettled(find.trim()) || undefined;
  const round = useRounds(REREAD_EVERY_MS);
  const telling = useThrottled([...liveWorkers.value.values()].filter(tellsModels).length, REREAD_WORKERS_MS);
  const { data, error, reload } = useLoad(`models ${offset} ${q} ${round} ${telling}`, async (signal) => {
    const page = { tells_models: "true", limit: WORKERS_SHOWN, offset, q, sort: "instance" } as const;
    const [{ workers, total }, { tasks }] = await Promise.all([
      learning(api.workers.list(page, { signal })),
      api.models.tasks({ limit: TASKS_SHOWN }, { signal }),
    ]);
    return { workers, total, tasks };
  });
  const workers = (data?.workers ?? []).map((read) => liveWorkers.value.get(read.instance) ?? read);
  return { data, error, reload, workers, tasks: newest(data?.tasks ?? []) };
};

const NoModels = () => (
  <Empty title="No worker says which models it has.">
    Workers of Ollama, llama.cpp, LM Studio and vLLM do. Started with <code>--manage-models</code>, they also pull,
    load, unload and delete models that you choose here.
  </Empty>
);

export const Models = () => {
  const offset = offsetInAddress();
  const find = place.value.query.get("find") ?? "";
  const { data, error, reload, workers, tasks } = useModels(offset, find);
  const [placing, setPlacing] = useState<string | null>(null);
  const rows = modelRows(workers, tasks);
  return (
    <Page
      title="Models"
      actions={
        <ForOperators>
          <button type="button" class="button primary" onClick={() => setPlacing("")}>
            Place a model
          </button>
        </ForOperators>
      }
    >
      <Problem error={error} retry={reload} />
      {((data === null && error === null) || !hasSnapshot.value) && <Loading what="the models" />}
      <Wanted wanted={wantedModels(queue.value)} onPlace={setPlacing} />
      {data !== null && (data.total > WORKERS_SHOWN || find !== "") && (
        <search class="filters">
          <TextField
            label="Find by name, provider, tag or model"
            value={find}
            onInput={(next) => refine({ find: next, offset: null })}
          />
        </search>
      )}
      {data?.total === 0 && (find === "" ? <NoModels /> : <Empty title="No worker matches." />)}
      {rows.length > 0 && <ModelMatrix rows={rows} workers={workers} onDone={reload} />}
      {data !== null && rows.length === 0 && workers.length > 0 && <Empty title="These workers have no models yet." />}
      {data !== null && data.total > WORKERS_SHOWN && (
        <Pager total={data.total} offset={offset} size={WORKERS_SHOWN} one="worker" />
      )}
      {tasks.length > 0 && (
        <Panel title="Tasks">
          <TaskList tasks={tasks.slice(0, TASKS_SHOWN)} onDone={reload} />
        </Panel>
      )}
      {placing !== null && <PlaceDialog model={placing} onDone={reload} onClose={() => setPlacing(null)} />}
    </Page>
  );
};
