// The fleet: every worker with its load, its last sign of life and what it offers. Live for the first two hundred, and
// paged through the API beyond.

import { useState } from "preact/hooks";
import type { WorkerResource } from "../../contract/worker.ts";
import { api } from "../api.ts";
import { count, splitTags } from "../format.ts";
import { NoWorkers } from "../parts/fleet-glance.tsx";
import { TextField } from "../parts/form.tsx";
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
import { workers, workersTotal } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";

const REREAD_EVERY_MS = 5000;

const Row = ({ worker }: { worker: WorkerResource }) => (
  <tr>
    <td class="cell-status">
      <WorkerStatus worker={worker} />
    </td>
    <td class="cell-main">
      <a class="row-link" href={href(["fleet", worker.instance])}>
        {worker.instance}
      </a>
      {worker.paused && <span class="row-note tone-caution">{worker.pause_reason}</span>}
    </td>
    <td class="cell-wide">{worker.provider}</td>
    <td>
      <LoadBar load={worker.current_load} concurrency={worker.concurrency} />
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
      <WorkerActions worker={worker} isShort />
    </td>
  </tr>
);

const COLUMNS: readonly Column[] = [
  { title: "State" },
  { title: "Worker" },
  { title: "Provider", class: "cell-wide" },
  { title: "Load" },
  { title: "Tags", class: "cell-wide" },
  { title: "Models", class: "cell-wide" },
  { title: "Heartbeat", class: "num cell-wide" },
  { title: "Actions", class: "cell-wide", isUnseen: true },
];

const WorkerTable = ({ rows }: { rows: readonly WorkerResource[] }) => (
  <Table name="Workers" columns={COLUMNS}>
    {rows.map((worker) => (
      <Row key={worker.instance} worker={worker} />
    ))}
  </Table>
);

const Summary = () => {
  const all = [...workers.value.values()];
  const present = all.filter(({ status }) => status !== "offline");
  const load = present.reduce((sum, worker) => sum + worker.current_load, 0);
  const places = present.reduce((sum, worker) => sum + worker.concurrency, 0);
  return (
    <>
      {count(workersTotal.value)} registered, {count(present.length)} present, {count(load)} of {count(places)} places
      taken
    </>
  );
};

export const Fleet = () => {
  const [sought, setSought] = useState(place.peek().query.get("find") ?? "");
  const offset = offsetInAddress();
  const total = useThrottled(workersTotal.value, REREAD_EVERY_MS);
  const { data, error, reload } = useLoad(`${offset} ${total}`, (signal) =>
    api.workers.list({ limit: PAGE_SIZE, offset }, { signal }),
  );
  const listed = (data?.workers ?? []).map((worker) => workers.value.get(worker.instance) ?? worker);
  const words = sought.toLowerCase().trim();
  const searched =
    words === ""
      ? listed
      : [...new Map([...listed, ...workers.value.values()].map((one) => [one.instance, one])).values()];
  const rows = searched.filter((one) =>
    [one.instance, one.provider, one.tags, ...(one.models ?? [])].join(" ").toLowerCase().includes(words),
  );
  const find = (text: string): void => {
    setSought(text);
    refine({ find: text || null });
  };
  return (
    <Page title="Fleet" lead={<Summary />}>
      {(data?.total ?? 0) > 5 && (
        <search class="filters">
          <TextField label="Find by name, provider, tag or model" value={sought} onInput={find} />
        </search>
      )}
      <Problem error={error} retry={reload} />
      {data === null && error === null && <Loading what="the fleet" />}
      {rows.length > 0 && <WorkerTable rows={rows.slice(0, 2 * PAGE_SIZE)} />}
      {data?.total === 0 && <NoWorkers />}
      {data !== null && data.total > 0 && rows.length === 0 && <Empty title={`No worker here matches “${sought}”.`} />}
      {data !== null && words === "" && <Pager total={data.total} offset={offset} what="workers" />}
    </Page>
  );
};
