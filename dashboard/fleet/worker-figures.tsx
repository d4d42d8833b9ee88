// What a worker did over the chosen span: success, run time, cost and load, its pauses as marks, and what it served.

import type { WorkerActivity } from "../../contract/fleet/worker-activity.ts";
import { api } from "../api.ts";
import { count, duration, plural, usd } from "../format.ts";
import { MarkList, plotMarks } from "../parts/charts/mark-list.tsx";
import { Plot, PlotLegend, type PlotLine } from "../parts/charts/plot.tsx";
import { Tile } from "../parts/charts/tile.tsx";
import { Empty, Loading, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { useLoad, useThrottled } from "../state/load.ts";
import { lastOf, span } from "../state/span.ts";
import { thisMinute } from "../state/throughput.ts";

const REREAD_EVERY_MS = 5000;
const HEIGHT = 130;

type Sums = Pick<WorkerActivity["total"], "completed" | "failed">;

const successOf = ({ completed, failed }: Sums): number | null =>
  completed + failed === 0 ? null : (100 * completed) / (completed + failed);

const LEAST_LOAD = 0.01;

/** A mean, or a value of an axis: never zero for what is more. */
const atOnce = (jobs: number): string => {
  if (jobs >= 10 || Number.isInteger(jobs)) return count(Math.round(jobs));
  return jobs >= 0.1 ? jobs.toFixed(1) : String(Number(jobs.toPrecision(1)));
};

const percent = (value: number): string => (value === 100 ? "100" : (Math.floor(value * 10) / 10).toFixed(1));

const GOOD_FROM = 99;
const BAD_BELOW = 90;
const toneOf = (success: number | null) =>
  success === null || success >= GOOD_FROM
    ? {}
    : success < BAD_BELOW
      ? ({ tone: "stop" } as const)
      : ({ tone: "caution" } as const);

const Tiles = ({ activity: { total, series, period, is_whole: isWhole } }: { activity: WorkerActivity }) => {
  const success = successOf(total);
  const over = `over the ${lastOf(period)}`;
  const ended = total.completed + total.failed;
  const load = series.reduce((sum, step) => sum + step.load, 0) / Math.max(1, series.length);
  return (
    <div class="tiles tiles-four">
      <Tile
        title="Success"
        figure={success === null ? "–" : percent(success)}
        unit="%"
        {...toneOf(success)}
        note={`${count(total.completed)} of ${plural(ended, "job")} in the ${lastOf(period)}${isWhole ? "" : ", of its newest 10,000"}`}
        spark={{ name: `Success ${over}`, values: series.map(successOf), colour: "--green" }}
      />
      <Tile
        title="Run time"
        figure={total.p95_ms === null ? "–" : duration(total.p95_ms)}
        unit="p95"
        note={total.p50_ms === null ? `nothing completed in the ${lastOf(period)}` : `median ${duration(total.p50_ms)}`}
        spark={{
          name: `Run time of 95 of 100 jobs ${over}`,
          values: series.map((step) => step.p95_ms),
          colour: "--amber",
        }}
      />
      <Tile
        title="Cost"
        figure={usd(total.usd)}
        note={`in the ${lastOf(period)}`}
        spark={{ name: `Cost ${over}`, values: series.map((step) => step.usd), colour: "--part-cost" }}
      />
      <Tile
        title="Load"
        figure={load > 0 && load < LEAST_LOAD ? `< ${LEAST_LOAD}` : atOnce(load)}
        unit="jobs at once"
        note={`on average in the ${lastOf(period)}`}
        spark={{ name: `Jobs at once ${over}`, values: series.map((step) => step.load), colour: "--accent" }}
      />
    </div>
  );
};

const LoadPlot = ({ activity: { series, marks, period } }: { activity: WorkerActivity }) => {
  const shown = plotMarks(marks);
  const lines: PlotLine[] = [
    { label: "jobs at once", values: series.map((step) => step.load), colour: "--accent", kind: "bars" },
  ];
  return (
    <Panel title="Load and pauses" aside={<PlotLegend lines={lines} />} class="span-plot">
      <Plot
        name={`Jobs at once on average, over the ${lastOf(period)}`}
        at={series.map(({ at }) => Date.parse(at) / 1000)}
        lines={lines}
        unit={atOnce}
        height={HEIGHT}
        marks={shown}
      />
      <MarkList marks={shown} />
    </Panel>
  );
};

const COLUMNS: readonly Column[] = [
  { title: "Model" },
  { title: "Completed", class: "num" },
  { title: "Failed", class: "num" },
  { title: "p95", class: "num cell-roomy" },
  { title: "Cost", class: "num" },
];
const MAX_SHOWN = 6;

const Served = ({ activity: { served, period } }: { activity: WorkerActivity }) => (
  <Panel title="What it served" class="span-plot">
    {served.length === 0 ? (
      <Empty title={`Nothing in the ${lastOf(period)}.`} />
    ) : (
      <Table name={`What it served in the ${lastOf(period)}`} columns={COLUMNS}>
        {served.slice(0, MAX_SHOWN).map((one) => (
          <tr key={`${one.provider} ${one.model}`}>
            <td class="cell-name">{one.model ?? "not named"}</td>
            <td class="num">{count(one.completed)}</td>
            <td class={one.failed > 0 ? "num tone-stop" : "num dim"}>{count(one.failed)}</td>
            <td class="num cell-roomy">{one.p95_ms === null ? "–" : duration(one.p95_ms)}</td>
            <td class="num">{usd(one.usd)}</td>
          </tr>
        ))}
      </Table>
    )}
    {served.length > MAX_SHOWN && <p class="dim">and {count(served.length - MAX_SHOWN)} more</p>}
  </Panel>
);

/** `changed`: read again when it does. */
export const WorkerFigures = ({ instance, changed }: { instance: string; changed: string }) => {
  const news = useThrottled(`${changed} ${thisMinute.value}`, REREAD_EVERY_MS);
  const period = span.value;
  const { data, error, reload } = useLoad(`${instance} ${period} ${news}`, (signal) =>
    api.workers.activity(instance, { period }, { signal }),
  );
  if (error !== null) return <Problem error={error} retry={reload} />;
  if (data === null)
    return (
      // A key of its own, so that its element does not become one of the figures', elsewhere on the page.
      <div key="empty" class="worker-figures-empty">
        <Loading what="what it did" />
      </div>
    );
  return (
    <>
      <Tiles activity={data} />
      <div key="plots" class="grid">
        <LoadPlot activity={data} />
        <Served activity={data} />
      </div>
    </>
  );
};
