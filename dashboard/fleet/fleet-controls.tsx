// The controls of the fleet page: search, order and grouping, and removable filters from the address.

import { WORKER_SORTS, type WorkerSort } from "../../contract/words/values.ts";
import { Choice, SelectField, TextField } from "../parts/form.tsx";
import { place, refine } from "../router.ts";
import type { FleetFilter } from "../state/fleet-bulk.ts";

const GROUPS = [
  ["", "no group"],
  ["provider", "provider"],
  ["tag", "tag"],
] as const;
const SORT_NAMES: Record<WorkerSort, string> = {
  registered_at: "newest first",
  instance: "by name",
  load: "fullest first",
  failure_rate: "most failing first",
  last_heartbeat: "longest silent first",
};

export const GivenFilters = ({ filter }: { filter: FleetFilter }) => (
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

export const FleetControls = ({ group, sort }: { group: string | undefined; sort: WorkerSort | undefined }) => (
  <search class="filters">
    <TextField
      label="Find by name, provider, tag or model"
      value={place.value.query.get("find") ?? ""}
      onInput={(find) => refine({ find, offset: null })}
    />
    <SelectField
      label="Order"
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
