// Cost by model, tag, key, worker or schedule, as bars and as a CSV file.

import type { ComponentChildren } from "preact";
import type { CostByGroup } from "../../contract/cost.ts";
import { count, plural, usd } from "../format.ts";
import { Share } from "../parts/charts/share.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { href } from "../router.ts";
import type { Filter } from "../state/job-filter.ts";
import type { NameOf } from "../state/key-names.ts";
import { csvOf, download } from "./csv.ts";

type Row = CostByGroup["rows"][number];

export const columnsOf = (title: string): readonly Column[] => [
  { title },
  { title: "Cost", class: "num" },
  { title: "Share", class: "cell-wide cell-mid" },
  { title: "Jobs", class: "num" },
  { title: "Tokens in", class: "num cell-wide" },
  { title: "Tokens out", class: "num cell-wide" },
];

interface FiguresProps {
  readonly of: Pick<Row, "usd" | "jobs" | "usage">;
  readonly totalUsd: number;
  /** What is to be said of its jobs. */
  readonly children?: ComponentChildren;
}

/** The cells behind the first. */
export const Figures = ({ of: { usd: spent, jobs, usage }, totalUsd, children }: FiguresProps) => (
  <>
    <td class="num">{usd(spent)}</td>
    <td class="cell-wide cell-mid">
      <Share part={spent} of={totalUsd} />
    </td>
    <td class="num">
      {count(jobs)}
      {children}
    </td>
    <td class="num cell-wide">{count(usage.input_tokens)}</td>
    <td class="num cell-wide">{count(usage.output_tokens)}</td>
  </>
);

/** The job list's filter for a group; null for the group without a value. */
const filterOf = (by: string, value: string | null): Filter =>
  value === null || by.startsWith("metadata.") ? {} : { [by === "provider" ? "ran_provider" : by]: value };

type Span = Pick<CostByGroup, "from" | "to">;

/** The job list's filter for the jobs that a cost counts as of unknown price. */
export const unpricedIn = ({ from, to }: Span): Record<string, string> => ({
  unpriced: "true",
  unpriced_since: from,
  unpriced_until: to,
});

/** A link to a group's jobs, the most expensive first. The list finds them by when they were created, not ended. */
export const JobsLink = ({ filter, span: { from, to }, name }: { filter: Filter; span: Span; name: string }) => (
  <a
    title="Its jobs that were created in this span, most expensive first"
    href={href(["jobs"], { ...filter, since: from, until: to, sort: "cost_usd" })}
  >
    {name}
  </a>
);

const Value = ({ value, groups, nameOf }: { value: string | null; groups: CostByGroup; nameOf: NameOf }) => {
  if (value === null) return <span class="dim">none</span>;
  const name = nameOf(value);
  const filter = filterOf(groups.by, value);
  return (
    <>
      {Object.keys(filter).length === 0 ? name : <JobsLink filter={filter} span={groups} name={name} />}
      {name !== value && <code class="row-note dim">{value}</code>}
    </>
  );
};

interface RowProps {
  readonly row: Row;
  readonly groups: CostByGroup;
  readonly nameOf: NameOf;
}

const GroupRow = ({ row, groups, nameOf }: RowProps) => (
  <tr>
    <td class="cell-name">
      <Value value={row.value} groups={groups} nameOf={nameOf} />
    </td>
    <Figures of={row} totalUsd={groups.total_usd}>
      {row.unpriced_jobs > 0 && (
        <a
          class="row-note tone-caution"
          href={href(["jobs"], { ...filterOf(groups.by, row.value), ...unpricedIn(groups) })}
        >
          {count(row.unpriced_jobs)} of unknown price
        </a>
      )}
    </Figures>
  </tr>
);

const fileOf = ({ by, rows }: CostByGroup): string =>
  csvOf([
    [by, "usd", "jobs", "unpriced_jobs", "input_tokens", "output_tokens"],
    ...rows.map(({ value, usd: spent, jobs, unpriced_jobs, usage }) => [
      value,
      spent,
      jobs,
      unpriced_jobs,
      usage.input_tokens,
      usage.output_tokens,
    ]),
  ]);

export const CostGroups = ({ groups, nameOf }: { groups: CostByGroup; nameOf: NameOf }) => (
  <>
    <Table name={`Cost by ${groups.by}`} columns={columnsOf(groups.by[0]?.toUpperCase() + groups.by.slice(1))}>
      {groups.rows.map((row) => (
        <GroupRow key={row.value} row={row} groups={groups} nameOf={nameOf} />
      ))}
    </Table>
    <p class="actions cost-foot">
      <button
        type="button"
        class="button small"
        onClick={() => download(`cost-by-${groups.by}-${groups.from.slice(0, 10)}.csv`, fileOf(groups))}
      >
        Download as CSV
      </button>
      {!groups.adds_up && <span class="dim">A job with several tags counts in each.</span>}
      {groups.rows_total > groups.rows.length && (
        <span class="dim">{plural(groups.rows_total - groups.rows.length, "cheaper row")} not shown.</span>
      )}
    </p>
  </>
);
