// The whole fleet at a glance: a cell for each worker, by provider, tag or region.

import type { FleetGrid, FleetGridGroup } from "../../contract/fleet/fleet-grid.ts";
import { api } from "../api.ts";
import { count } from "../format.ts";
import { Choice } from "../parts/form.tsx";
import { LoadState, Panel } from "../parts/page.tsx";
import { href } from "../router.ts";
import type { FleetFilter } from "../state/fleet-bulk.ts";
import { isOneOf, kept } from "../state/kept.ts";
import { useLoad } from "../state/load.ts";
import { CellCanvas } from "./cell-canvas.tsx";
import type { CellFill } from "./cell-fill.ts";

const BY = [
  ["provider", "by provider"],
  ["tag", "by tag"],
  ["region", "by region"],
] as const;
type By = FleetGrid["by"];

const FILLS = [
  ["load", "load"],
  ["gpu", "GPU memory"],
] as const;

const { chosen: by, choose: chooseBy } = kept<By>("grid-by", "provider", isOneOf(["provider", "tag", "region"]));
const { chosen: fill, choose: chooseFill } = kept<CellFill>("grid-fill", "load", isOneOf(["load", "gpu"]));

/** Cells of a small fleet are large. */
const sizeFor = (workers: number): number => (workers <= 300 ? 18 : workers <= 2_000 ? 13 : workers <= 5_000 ? 9 : 6);

const knowsGpus = ({ groups }: FleetGrid): boolean =>
  groups.some(({ gpu_total_mb: totals }) => totals.some((total) => total !== null));

const nameOf = ({ value }: FleetGridGroup, grouped: By): string => (value === "" ? `no ${grouped}` : value);

/** A region is a tag, so its workers are found by it. */
const groupHref = ({ value }: FleetGridGroup, grouped: By): string =>
  href(
    ["fleet"],
    grouped === "provider" ? { provider: value } : { tag: grouped === "tag" ? value : `region:${value}` },
  );

const Groups = ({ grid }: { grid: FleetGrid }) => {
  const size = sizeFor(grid.total);
  return (
    <div class="grid-groups">
      {grid.groups.map((group) => (
        <section key={group.value} class="grid-group" aria-label={nameOf(group, grid.by)}>
          <h3>
            {group.value === "" ? (
              <span class="dim">{nameOf(group, grid.by)}</span>
            ) : (
              <a href={groupHref(group, grid.by)}>{group.value}</a>
            )}{" "}
            <span class="dim num">{count(group.workers)}</span>
          </h3>
          <CellCanvas group={group} size={size} fill={fill.value} name={nameOf(group, grid.by)} />
        </section>
      ))}
    </div>
  );
};

/** `changed`: read again when it does. */
export const FleetGridPanel = ({ filter, changed }: { filter: FleetFilter; changed: string }) => {
  const wish = JSON.stringify({ ...filter, by: by.value });
  const { data, error, reload } = useLoad(`${wish} ${changed}`, (signal) =>
    api.workers.grid({ ...filter, by: by.value }, { signal }),
  );
  return (
    <Panel
      class="fleet-grid"
      aside={
        <div class="grid-choices">
          {data !== null && knowsGpus(data) && (
            <Choice label="Fill shows" value={fill.value} options={FILLS} onInput={chooseFill} />
          )}
          <Choice label="Cells" value={by.value} options={BY} onInput={chooseBy} />
        </div>
      }
      title="At a glance"
    >
      <LoadState data={data} error={error} retry={reload} what="the grid" />
      {data !== null && <Groups grid={data} />}
    </Panel>
  );
};
