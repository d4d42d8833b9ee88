// Workers as rows that follow the live view, each with its state and what holds it back; selected or all are paused or
// resumed.

import { useState } from "preact/hooks";
import type { FleetSumsResource, WorkerResource } from "../../contract/worker.ts";
import { count, splitTags, withLocalTimes } from "../format.ts";
import { LoadBar } from "../parts/load-bar.tsx";
import { WorkerStatus } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Tags } from "../parts/tags.tsx";
import { Time } from "../parts/time.tsx";
import { WorkerActions } from "../parts/worker-actions.tsx";
import { href } from "../router.ts";
import { isHalted, workers } from "../state/board.ts";
import type { FleetFilter } from "../state/fleet-bulk.ts";
import { mayOperate } from "../state/session.ts";
import { type BulkAct, BulkDialog, type Chosen } from "./fleet-bulk.tsx";
import { GivenFilters } from "./fleet-controls.tsx";

const FailureRate = ({ rate }: { rate: number | null }) => {
  if (rate === null) return <span class="dim">–</span>;
  const tone = rate >= 1 / 3 ? "tone-stop" : rate > 0 ? "" : "dim";
  return <span class={tone}>{Math.round(rate * 100)} %</span>;
};

const whyNot = ({ paused, pause_reason, unavailable, halt_confirmed }: WorkerResource): string | null => {
  if (halt_confirmed === false) return "has not confirmed the halt";
  return paused ? pause_reason : unavailable;
};

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
          {worker.instance}
        </a>
        {worker.edge && <span class="row-note dim">called by the coordinator itself</span>}
        {why !== null && <span class="row-note tone-caution">{withLocalTimes(why)}</span>}
      </td>
      <td class="cell-wide cell-short">
        <span title={worker.provider}>{worker.provider}</span>
      </td>
      <td>
        <LoadBar load={worker.current_load} concurrency={worker.concurrency} />
      </td>
      <td class="num">
        <FailureRate rate={worker.failure_rate} />
      </td>
      <td class="cell-wide cell-tags">
        <Tags tags={splitTags(worker.tags)} max={3} />
      </td>
      <td class="cell-wide cell-tags">
        {worker.models === null ? <span class="dim">any model</span> : <Tags tags={worker.models} max={1} />}
      </td>
      <td class="num cell-wide">
        <Time at={worker.last_heartbeat} />
      </td>
      {mayOperate.value && (
        <td class="cell-actions cell-wide">
          <WorkerActions worker={worker} isShort onDone={onDone} />
        </td>
      )}
    </tr>
  );
};

const SHOWN: readonly Column[] = [
  { title: "State", class: "cell-status" },
  { title: "Worker", class: "cell-main" },
  { title: "Provider", class: "cell-wide cell-short" },
  { title: "Load", class: "cell-load" },
  { title: "Failed", class: "num cell-failed" },
  { title: "Tags", class: "cell-wide cell-tags" },
  { title: "Models", class: "cell-wide cell-tags" },
  { title: "Heartbeat", class: "num cell-wide cell-when" },
];
const TICK: Column = { title: "Select", class: "cell-check", isUnseen: true };
const ACTIONS: Column = { title: "Actions", class: "cell-wide cell-actions", isUnseen: true };

const columns = (): readonly Column[] => (mayOperate.value ? [TICK, ...SHOWN, ACTIONS] : SHOWN);

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
