// The fleet: counts per state, search, sorting and groups, computed by the server for the whole fleet; one page of rows
// that follow the live view; actions on many workers.

import { useRef, useState } from "preact/hooks";
import type { FleetSumsResource } from "../../contract/fleet/worker.ts";
import { WORKER_SORTS, WORKER_STATES, type WorkerState } from "../../contract/words/values.ts";
import { api } from "../api.ts";
import { count } from "../format.ts";
import { NoWorkers } from "../parts/charts/fleet-glance.tsx";
import { Empty, LoadState, Page } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { place } from "../router.ts";
import { fleet, fleetSum, hasSnapshot, isHalted, killswitch, learning } from "../state/board.ts";
import type { FleetFilter } from "../state/fleet-bulk.ts";
import { useLoad, useSettled, useThrottled } from "../state/load.ts";
import { isAdmin } from "../state/session.ts";
import { type BulkAct, BulkDialog } from "./fleet-bulk.tsx";
import { FleetControls } from "./fleet-controls.tsx";
import { FleetGridPanel } from "./fleet-grid.tsx";
import { FleetRows } from "./fleet-rows.tsx";
import { FleetGroups, StateChips } from "./fleet-states.tsx";

const REREAD_EVERY_MS = 3000;

const Summary = () => {
  const all = fleetSum((one) => one.workers);
  return (
    <>
      {count(all)} registered, {count(all - fleetSum((one) => one.offline))} present,{" "}
      {count(fleetSum((one) => one.load))} of {count(fleetSum((one) => one.places))} places taken
    </>
  );
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

/** Another text when what the socket tells has changed since the page was opened; its first word is no change. */
const useChanges = (told: string | null): string => {
  const first = useRef<string | null>(null);
  first.current ??= told;
  return useThrottled(told === null || told === first.current ? "" : told, REREAD_EVERY_MS);
};

export const Fleet = () => {
  const { filter, sort, group } = asked();
  const offset = offsetInAddress();
  const words = useSettled(filter.q);
  const changed = useChanges(hasSnapshot.value ? JSON.stringify([fleet.value, killswitch.value]) : null);
  const wish = JSON.stringify({ ...filter, q: words, sort, offset });
  const { data, error, reload } = useLoad(`${wish} ${changed}`, (signal) =>
    learning(api.workers.list({ ...filter, q: words, sort, limit: PAGE_SIZE, offset, summary: "true" }, { signal })),
  );
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  // Its read does not wait until the socket has told of the fleet.
  const hasGrid = hasSnapshot.value ? fleet.value.length > 0 : data === null || data.total > 0;
  return (
    <Page
      title="Fleet"
      lead={<Summary />}
      actions={
        isAdmin.value && (
          <a class="button primary" href="#/fleet/~add">
            Add a worker
          </a>
        )
      }
    >
      {data?.summary !== undefined && (
        <StateChips sums={data.summary} chosen={filter.state ?? null} isHalted={isHalted.value} />
      )}
      <FleetControls group={group} sort={sort} />
      {hasGrid && <FleetGridPanel filter={{ ...filter, q: words }} changed={changed} />}
      <LoadState data={data} error={error} retry={reload} what="the fleet" />
      {group !== undefined && data?.summary !== undefined && <Groups sums={data.summary} by={group} onDone={reload} />}
      {group === undefined && data !== null && <FleetRows key={wish} data={data} filter={filter} onDone={reload} />}
      {data?.total === 0 && !isFiltered && <NoWorkers />}
      {data?.total === 0 && isFiltered && <Empty title="No worker matches." />}
      {group === undefined && data !== null && <Pager total={data.total} offset={offset} one="worker" />}
    </Page>
  );
};
