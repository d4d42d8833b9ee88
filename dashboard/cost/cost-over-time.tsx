// Cost over time: bars stacked by group, the most expensive at the bottom, the rest combined on top.

import type { CostByGroup, CostSummary } from "../../contract/cost.ts";
import { DAY_MS } from "../../contract/words/values.ts";
import { axisTime, axisUsd, count, usd } from "../format.ts";
import { Plot, PlotLegend, type PlotLine } from "../parts/charts/plot.tsx";
import { Panel } from "../parts/page.tsx";
import { Table } from "../parts/table.tsx";
import type { NameOf } from "../state/key-names.ts";

const COLOURS = [
  "--part-capacity",
  "--part-tag_fit",
  "--part-model_loaded",
  "--part-cost",
  "--part-freshness",
  "--part-success",
  "--amber",
] as const;
const REST = { label: "all others", colour: "--part-tier" } as const;
const NONE = "none";
/** Sums of dollars differ from their total by rounding errors. */
const LEAST_USD = 1e-9;

/** Stacked values: each begins where the one before ends. */
const stacked = (parts: readonly { label: string; colour: string; spent: readonly number[] }[]): PlotLine[] => {
  let from: readonly number[] = parts[0]?.spent.map(() => 0) ?? [];
  return parts.map(({ label, colour, spent }) => {
    const line: PlotLine = { label, colour, kind: "bars", from, values: spent.map((one, at) => one + (from[at] ?? 0)) };
    from = line.values as readonly number[];
    return line;
  });
};

/** A job with several tags counts in each, so such parts are not stacked. */
const linesOf = (summary: CostSummary, groups: CostByGroup | null, nameOf: NameOf): PlotLine[] => {
  const whole = summary.series.map(({ usd: spent }) => spent);
  if (groups?.adds_up !== true || groups.series.length !== whole.length)
    return [{ label: "cost", values: whole, colour: "--accent", kind: "bars" }];
  const parts = groups.rows
    .slice(0, COLOURS.length)
    .filter(({ usd: spent }) => spent > 0)
    .map(({ value }, place) => ({
      label: value === null ? NONE : nameOf(value),
      colour: COLOURS[place] ?? REST.colour,
      spent: groups.series.map(({ rows }) => rows.find((row) => row.value === value)?.usd ?? 0),
    }));
  const rest = whole.map((spent, at) =>
    Math.max(0, spent - parts.reduce((sum, part) => sum + (part.spent[at] ?? 0), 0)),
  );
  return stacked(rest.some((spent) => spent > LEAST_USD) ? [...parts, { ...REST, spent: rest }] : parts);
};

/** What the picture shows; hours and days in which nothing ended are left out. */
const InNumbers = ({ summary: { series }, isByHour }: { summary: CostSummary; isByHour: boolean }) => {
  const spent = series.filter((step) => step.usd > 0 || step.jobs > 0);
  if (spent.length === 0) return null;
  const unit = isByHour ? "hour" : "day";
  return (
    <details class="more">
      <summary>In numbers</summary>
      <Table
        name={`Cost by ${unit}`}
        columns={[
          { title: `${isByHour ? "Hour" : "Day"}, UTC` },
          { title: "Cost", class: "num" },
          { title: "Jobs", class: "num" },
        ]}
      >
        {spent.map(({ at, usd: cost, jobs }) => (
          <tr key={at}>
            <td>
              {axisTime(Date.parse(at), true, true)}
              {isByHour && `, ${axisTime(Date.parse(at), false, true)}`}
            </td>
            <td class="num">{usd(cost)}</td>
            <td class="num">{count(jobs)}</td>
          </tr>
        ))}
      </Table>
    </details>
  );
};

interface Props {
  readonly summary: CostSummary;
  readonly groups: CostByGroup | null;
  readonly nameOf: NameOf;
}

export const CostOverTime = ({ summary, groups, nameOf }: Props) => {
  const lines = linesOf(summary, groups, nameOf);
  const at = summary.series.map(({ at: instant }) => Date.parse(instant));
  const isByHour = (at[1] ?? 0) - (at[0] ?? 0) < DAY_MS;
  return (
    <Panel title={isByHour ? "By hour" : "By day"} class="span-2">
      {/* A new key makes a new plot, because a plot's axis depends on its step. */}
      <Plot
        key={`${summary.from} ${isByHour}`}
        name={`Cost over time, ${usd(summary.total_usd)} in all`}
        at={at.map((instant) => instant / 1000)}
        lines={lines}
        unit={axisUsd}
        isUtc
      />
      {lines[0]?.from !== undefined && <PlotLegend lines={lines} />}
      <InNumbers summary={summary} isByHour={isByHour} />
    </Panel>
  );
};
