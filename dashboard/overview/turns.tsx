// Whose turn is next: the flows that wait with the same requirements, how many jobs of each, and the share of what is
// served that its weight gives it.

import type { QueueView } from "../../contract/jobs/insight.ts";
import { count, plural } from "../format.ts";
import { Share } from "../parts/charts/share.tsx";
import { Panel } from "../parts/page.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { queue } from "../state/board.ts";
import { type NameOf, useKeyNames } from "../state/key-names.ts";
import { asked, ownerOf, ownersIn, type QueueGroup } from "../state/waiting.ts";

type Flow = QueueView["groups"][number]["flows"][number];

const MAX_SHOWN_GROUPS = 3;
const MAX_FLOWS = 8;

const COLUMNS: readonly Column[] = [
  { title: "Whose" },
  { title: "Priority", class: "cell-roomy" },
  { title: "Waiting jobs", class: "num" },
  { title: "Weight", class: "num cell-roomy" },
  { title: "Share of what is served", class: "num" },
];

const FlowRow = ({ flow, nameOf }: { flow: Flow; nameOf: NameOf }) => (
  <tr>
    <td class="cell-name">
      {ownerOf(flow, nameOf)}
      <span class="dim narrow-only"> · {flow.priority}</span>
    </td>
    <td class="cell-roomy">{flow.priority}</td>
    <td class="num">{count(flow.waiting)}</td>
    <td class="num cell-roomy">{flow.weight}</td>
    <td class="num">
      <span class="share-figure">
        <Share part={flow.share} of={1} />
        {Math.round(flow.share * 100)}&nbsp;%
      </span>
    </td>
  </tr>
);

const Group = ({ group, nameOf }: { group: QueueGroup; nameOf: NameOf }) => (
  <>
    <p class="dim">
      {asked(group)}: {plural(ownersIn(group), "flow")}
      {group.flows_total > MAX_FLOWS && `, the next ${MAX_FLOWS}`}
    </p>
    <Table name={`Fair turns of jobs that ask for ${asked(group)}`} columns={COLUMNS} class="fair-turns">
      {group.flows.slice(0, MAX_FLOWS).map((flow) => (
        <FlowRow key={JSON.stringify([flow.priority, flow.key_id, flow.fairness_key])} flow={flow} nameOf={nameOf} />
      ))}
    </Table>
  </>
);

/** Nothing where nobody shares: a single flow has no turns to wait for. */
export const Turns = () => {
  const shared = (queue.value?.groups ?? []).filter((group) => ownersIn(group) > 1);
  const nameOf = useKeyNames(shared.length > 0);
  if (shared.length === 0) return null;
  const largest = [...shared].sort((one, other) => other.flows_total - one.flows_total).slice(0, MAX_SHOWN_GROUPS);
  const more = shared.length - largest.length;
  return (
    <Panel title="Whose turn is next" class="span-all">
      {largest.map((group) => (
        <Group
          key={JSON.stringify([asked(group), group.api, group.excluded_providers])}
          group={group}
          nameOf={nameOf}
        />
      ))}
      {more > 0 && <p class="dim">and {plural(more, "more kind")} of jobs that several wait with</p>}
    </Panel>
  );
};
