// Workers as rows that follow the live view, each with its state and what holds it back; selected or all are paused or
// resumed.

import { useState } from "preact/hooks";
import type { FleetSumsResource, WorkerResource } from "../../contract/fleet/worker.ts";
import { count, withLocalTimes } from "../format.ts";
import { LongName } from "../parts/long-name.tsx";
import { WorkerStatus } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { WorkerActions } from "../parts/worker-actions.tsx";
import { href } from "../router.ts";
import { isHalted, workers } from "../state/board.ts";
import type { FleetFilter } from "../state/fleet-bulk.ts";
import { mayOperate } from "../state/session.ts";
import { whyNot } from "../state/why-paused.ts";
import { type BulkAct, BulkDialog, type Chosen } from "./fleet-bulk.tsx";
import { ColumnsMenu, chosenColumns } from "./fleet-columns.tsx";
import { GivenFilters } from "./fleet-controls.tsx";

interface RowProps {
  worker: WorkerResource;
  isChosen: boolean;
  onChoose: (isChosen: boolean) => void;
  onDone: () => void;
}

const Row = ({ worker, isChosen, onChoose, onDone }: RowProps) => {
  const why = whyNot(worker);
  return (
    <tr>
      {mayOperate.value && (
        <td class="cell-check">
          <label>
            <input
              type="checkbox"
              aria-label={`Select ${worker.instance}`}
              checked={isChosen}
              onChange={(event) => onChoose(event.currentTarget.checked)}
            />
          </label>
        </td>
      )}
      <td class="cell-status">
        <WorkerStatus worker={worker} />
      </td>
      <td class="cell-main">
        <a class="row-link" title={worker.instance} href={href(["fleet", worker.instance])}>
          <LongName name={worker.instance} />
        </a>
        {worker.edge && <span class="row-note dim">called by the coordinator itself</span>}
        {why !== null && (
          <span class="row-note tone-caution" title={withLocalTimes(why)}>
            {withLocalTimes(why)}
          </span>
        )}
      </td>
      {chosenColumns().map(({ title, class: kind, cell }) => (
        <td key={title} class={kind}>
          {cell(worker)}
        </td>
      ))}
      {mayOperate.value && (
        <td class="cell-actions cell-wide">
          <WorkerActions worker={worker} isShort onDone={onDone} />
        </td>
      )}
    </tr>
  );
};

const FIRST: readonly Column[] = [
  { title: "State", class: "cell-status" },
  { title: "Worker", class: "cell-main" },
];
const TICK: Column = { title: "Select", class: "cell-check", isUnseen: true };
const ACTIONS: Column = { title: "Actions", class: "cell-wide cell-actions", isUnseen: true };

const columns = (): readonly Column[] => {
  const shown = [...FIRST, ...chosenColumns()];
  return mayOperate.value ? [TICK, ...shown, ACTIONS] : shown;
};

const BulkBar = ({ chosen, onAct }: { chosen: Chosen; onAct: (act: BulkAct) => void }) => {
  const size = chosen.kind === "named" ? chosen.instances.length : chosen.total;
  const what = chosen.kind === "named" ? `${count(size)} selected` : `all ${count(size)}`;
  return (
    <>
      <button type="button" class="button small" onClick={() => onAct({ verb: "pause", chosen })}>
        Pause {what}
      </button>
      <button
        type="button"
        class="button small"
        disabled={isHalted.value}
        title={isHalted.value ? "Clear the killswitch first" : undefined}
        onClick={() => onAct({ verb: "resume", chosen })}
      >
        Resume {what}
      </button>
    </>
  );
};

interface Listed {
  readonly workers: readonly WorkerResource[];
  readonly total: number;
  readonly summary?: FleetSumsResource | undefined;
}

export const FleetRows = ({ data, filter, onDone }: { data: Listed; filter: FleetFilter; onDone: () => void }) => {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  const [act, setAct] = useState<BulkAct | null>(null);
  const rows = data.workers.map((worker) => workers.value.get(worker.instance) ?? worker);
  const tick = (instance: string, isChosen: boolean): void => {
    const next = new Set(ticked);
    if (isChosen) next.add(instance);
    else next.delete(instance);
    setTicked(next);
  };
  const chosen: Chosen =
    ticked.size > 0 ? { kind: "named", instances: [...ticked] } : { kind: "matching", filter, total: data.total };
  return (
    <>
      <div class="actions bulk-bar">
        {data.total > 1 && mayOperate.value && <BulkBar chosen={chosen} onAct={setAct} />}
        {ticked.size > 0 && (
          <button type="button" class="button small quiet" onClick={() => setTicked(new Set())}>
            Select none
          </button>
        )}
        <GivenFilters filter={filter} />
        {rows.length > 0 && <ColumnsMenu />}
      </div>
      {rows.length > 0 && (
        <Table name="Workers" columns={columns()} class="fleet-table">
          {rows.map((worker) => (
            <Row
              key={worker.instance}
              worker={worker}
              isChosen={ticked.has(worker.instance)}
              onChoose={(isChosen) => tick(worker.instance, isChosen)}
              onDone={onDone}
            />
          ))}
        </Table>
      )}
      {act !== null && <BulkDialog {...act} onDone={onDone} onClose={() => setAct(null)} />}
    </>
  );
};
