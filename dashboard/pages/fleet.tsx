// The fleet: counts per state, search, sorting and groups, computed by the server for the whole fleet; one page of rows
// that follow the live view; actions on many workers.

import { useState } from "preact/hooks";
import { WORKER_SORTS, WORKER_STATES, type WorkerSort, type WorkerState } from "../../contract/values.ts";
import type { FleetSumsResource, WorkerResource } from "../../contract/worker.ts";
import { api } from "../api.ts";
import { count, plural, splitTags, withLocalTimes } from "../format.ts";
import { type BulkAct, BulkDialog, type Chosen } from "../parts/fleet-bulk.tsx";
import { NoWorkers } from "../parts/fleet-glance.tsx";
import { FleetGroups, StateChips } from "../parts/fleet-states.tsx";
import { Choice, SelectField, TextField } from "../parts/form.tsx";
import { LoadBar } from "../parts/load-bar.tsx";
import { Empty, Loading, Page } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { Problem } from "../parts/problem.tsx";
import { WorkerStatus } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Tags } from "../parts/tags.tsx";
import { Time } from "../parts/time.tsx";
import { WorkerActions } from "../parts/worker-actions.tsx";
import { href, place, refine } from "../router.ts";
import { fleet, isHalted, killswitch, workers } from "../state/board.ts";
import type { FleetFilter } from "../state/fleet-bulk.ts";
import { useLoad, useSettled, useThrottled } from "../state/load.ts";
import { mayOperate } from "../state/session.ts";

const REREAD_EVERY_MS = 3000;
const TYPING_MS = 250;

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
      <td class="cell-check">
        <input
          type="checkbox"
          aria-label={`Select ${worker.instance}`}
          checked={isChosen}
          onChange={(event) => onChoose(event.currentTarget.checked)}
        />
      </td>
      <td class="cell-status">
        <WorkerStatus worker={worker} />
      </td>
      <td class="cell-main">
        <a class="row-link" href={href(["fleet", worker.instance])}>
          {worker.instance}
        </a>
        {why !== null && <span class="row-note tone-caution">{withLocalTimes(why)}</span>}
      </td>
      <td class="cell-wide">{worker.provider}</td>
      <td>
        <LoadBar load={worker.current_load} concurrency={worker.concurrency} />
      </td>
      <td class="num">
        <FailureRate rate={worker.failure_rate} />
      </td>
      <td class="cell-wide cell-tags">
        <Tags tags={splitTags(worker.tags)} max={5} />
      </td>
      <td class="cell-wide cell-tags">
        {worker.models === null ? <span class="dim">any model</span> : <Tags tags={worker.models} max={2} />}
      </td>
      <td class="num cell-wide">
        <Time at={worker.last_heartbeat} />
      </td>
      <td class="cell-actions cell-wide">
        <WorkerActions worker={worker} isShort onDone={onDone} />
      </td>
    </tr>
  );
};

const COLUMNS: readonly Column[] = [
  { title: "Select", isUnseen: true },
  { title: "State" },
  { title: "Worker" },
  { title: "Provider", class: "cell-wide" },
  { title: "Load" },
  { title: "Failed", class: "num" },
  { title: "Tags", class: "cell-wide" },
  { title: "Models", class: "cell-wide" },
  { title: "Heartbeat", class: "num cell-wide" },
  { title: "Actions", class: "cell-wide", isUnseen: true },
];

const Summary = () => {
  const sum = (figureOf: (one: (typeof fleet.value)[number]) => number): number =>
    fleet.value.reduce((total, one) => total + figureOf(one), 0);
  const all = sum((one) => one.workers);
  return (
    <>
      {count(all)} registered, {count(all - sum((one) => one.offline))} present, {count(sum((one) => one.load))} of{" "}
      {count(sum((one) => one.places))} places taken
    </>
  );
};

const GROUPS = [
  ["", "no group"],
  ["provider", "provider"],
  ["tag", "tag"],
] as const;
const SORT_NAMES: Record<WorkerSort, string> = {
  registered_at: "newest",
  instance: "name",
  load: "fullest",
  failure_rate: "most failing",
  last_heartbeat: "longest silent",
};

const oneOf = <Value extends string>(values: readonly Value[], given: string | null): Value | undefined =>
  values.find((value) => value === given);

/** What the address asks for; unknown values are ignored. */
const asked = () => {
  const { query } = place.value;
  const filter: FleetFilter = {
    q: query.get("find")?.trim() || undefined,
    state: oneOf<WorkerState>(WORKER_STATES, query.get("state")),
    provider: query.get("provider") || undefined,
    tag: query.get("tag") || undefined,
  };
  return {
    filter,
    sort: oneOf(WORKER_SORTS, query.get("sort")),
    group: oneOf(["provider", "tag"], query.get("group")),
  };
};

const Given = ({ filter }: { filter: FleetFilter }) => (
  <>
    {(["provider", "tag"] as const)
      .filter((name) => filter[name] !== undefined)
      .map((name) => (
        <button key={name} type="button" class="button small" onClick={() => refine({ [name]: null, offset: null })}>
          {name} {filter[name]} <span aria-hidden="true">×</span>
          <span class="visually-hidden">, remove</span>
        </button>
      ))}
  </>
);

const Controls = ({ group, sort }: { group: string | undefined; sort: WorkerSort | undefined }) => {
  const [sought, setSought] = useState(place.peek().query.get("find") ?? "");
  const find = (text: string): void => {
    setSought(text);
    refine({ find: text || null, offset: null });
  };
  return (
    <search class="filters">
      <TextField label="Find by name, provider, tag or model" value={sought} onInput={find} />
      <SelectField
        label="First"
        value={sort ?? "registered_at"}
        options={WORKER_SORTS.map((one) => [one, SORT_NAMES[one]] as const)}
        onInput={(next) => refine({ sort: next, offset: null })}
      />
      <Choice
        label="Group by"
        value={group ?? ""}
        options={GROUPS}
        onInput={(next) => refine({ group: next || null, offset: null })}
      />
    </search>
  );
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

const Rows = ({ data, filter, onDone }: { data: Listed; filter: FleetFilter; onDone: () => void }) => {
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
      {mayOperate.value && data.total > 1 && (
        <div class="actions bulk-bar">
          <BulkBar chosen={chosen} onAct={setAct} />
          {ticked.size > 0 && (
            <button type="button" class="button small quiet" onClick={() => setTicked(new Set())}>
              Select none
            </button>
          )}
          <Given filter={filter} />
        </div>
      )}
      {data.total <= 1 && (
        <div class="actions bulk-bar">
          <Given filter={filter} />
        </div>
      )}
      {rows.length > 0 && (
        <Table name="Workers" columns={COLUMNS} class="fleet-table">
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

const Groups = ({ sums, by, onDone }: { sums: FleetSumsResource; by: "provider" | "tag"; onDone: () => void }) => {
  const [act, setAct] = useState<BulkAct | null>(null);
  return (
    <>
      <FleetGroups
        groups={by === "tag" ? sums.tags : sums.providers}
        by={by}
        onPause={(chosen) => setAct({ verb: "pause", chosen })}
      />
      {act !== null && <BulkDialog {...act} onDone={onDone} onClose={() => setAct(null)} />}
    </>
  );
};

export const Fleet = () => {
  const { filter, sort, group } = asked();
  const offset = offsetInAddress();
  const words = useSettled(filter.q, TYPING_MS);
  const changed = useThrottled(`${JSON.stringify(fleet.value)} ${JSON.stringify(killswitch.value)}`, REREAD_EVERY_MS);
  const wish = JSON.stringify({ ...filter, q: words, sort, offset });
  const { data, error, reload } = useLoad(`${wish} ${changed}`, (signal) =>
    api.workers.list({ ...filter, q: words, sort, limit: PAGE_SIZE, offset, summary: "true" }, { signal }),
  );
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <Page
      title="Fleet"
      lead={<Summary />}
      actions={
        <a class="button primary" href="#/fleet/~add">
          Add a worker
        </a>
      }
    >
      {data?.summary !== undefined && (
        <StateChips sums={data.summary} chosen={filter.state ?? null} isHalted={isHalted.value} />
      )}
      <Controls group={group} sort={sort} />
      <Problem error={error} retry={reload} />
      {data === null && error === null && <Loading what="the fleet" />}
      {group !== undefined && data?.summary !== undefined && <Groups sums={data.summary} by={group} onDone={reload} />}
      {group === undefined && data !== null && <Rows key={wish} data={data} filter={filter} onDone={reload} />}
      {data?.total === 0 && !isFiltered && <NoWorkers />}
      {data?.total === 0 && isFiltered && <Empty title="No worker matches." />}
      {group === undefined && data !== null && (
        <Pager total={data.total} offset={offset} what={plural(data.total, "worker").replace(/^\S+ /, "")} />
      )}
    </Page>
  );
};
