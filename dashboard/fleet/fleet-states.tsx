// The fleet by state: a chip per state with its count, and totals by provider or tag.

import type { FleetGroupResource, FleetSumsResource } from "../../contract/fleet/worker.ts";
import { WORKER_STATES } from "../../contract/words/values.ts";
import { count, plural } from "../format.ts";
import { CellSign } from "../parts/cell-shape.tsx";
import { LoadBar } from "../parts/charts/load-bar.tsx";
import { ForOperators } from "../parts/for-operators.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { refine } from "../router.ts";
import type { Chosen } from "./fleet-bulk.tsx";

/** `unconfirmed` only has a meaning during a halt. */
export const StateChips = ({
  sums,
  chosen,
  isHalted,
}: {
  sums: FleetSumsResource;
  chosen: string | null;
  isHalted: boolean;
}) => (
  <fieldset class="state-chips">
    <legend class="visually-hidden">Workers by state</legend>
    {WORKER_STATES.filter((state) => state !== "unconfirmed" || isHalted || chosen === state).map((state) => (
      <button
        key={state}
        type="button"
        class={`button small${(sums.states[state] ?? 0) === 0 ? " state-none" : ""}`}
        aria-pressed={chosen === state}
        onClick={() => refine({ state: chosen === state ? null : state, offset: null })}
      >
        <CellSign state={state} />
        {state} <strong class="num">{count(sums.states[state] ?? 0)}</strong>
      </button>
    ))}
  </fieldset>
);

type GroupBy = "provider" | "tag";

const figure = (value: number) => (value === 0 ? <span class="dim">0</span> : count(value));

const GroupRow = ({
  group,
  by,
  onPause,
}: {
  group: FleetGroupResource;
  by: GroupBy;
  onPause: (chosen: Chosen) => void;
}) => (
  <tr>
    <th scope="row">
      <button
        type="button"
        class="link-button"
        onClick={() => refine({ [by]: group.value, group: null, offset: null })}
      >
        {group.value}
      </button>
    </th>
    <td class="num">{count(group.workers)}</td>
    <td>
      <LoadBar load={group.load} concurrency={group.places} />
    </td>
    <td class="num cell-roomy">{figure(group.failing)}</td>
    <td class="num cell-wide">{figure(group.offline)}</td>
    <td class="num cell-wide">{figure(group.paused)}</td>
    <td class="cell-actions">
      <ForOperators>
        <button
          type="button"
          class="button small"
          aria-label={`Pause all ${plural(group.workers, "worker")} of ${by} ${group.value}`}
          onClick={() => onPause({ kind: "matching", filter: { [by]: group.value }, total: group.workers })}
        >
          Pause all
        </button>
      </ForOperators>
    </td>
  </tr>
);

const columnsOf = (by: GroupBy): readonly Column[] => [
  { title: by === "tag" ? "Tag" : "Provider" },
  { title: "Workers", class: "num" },
  { title: "Places" },
  { title: "Failing", class: "num cell-roomy" },
  { title: "Offline", class: "num cell-wide" },
  { title: "Paused", class: "num cell-wide" },
  { title: "Actions", isUnseen: true },
];

export const FleetGroups = ({
  groups,
  by,
  onPause,
}: {
  groups: readonly FleetGroupResource[];
  by: GroupBy;
  onPause: (chosen: Chosen) => void;
}) => (
  <Table name={`The fleet by ${by}`} columns={columnsOf(by)} class="fleet-groups">
    {groups.map((group) => (
      <GroupRow key={group.value} group={group} by={by} onPause={onPause} />
    ))}
  </Table>
);
