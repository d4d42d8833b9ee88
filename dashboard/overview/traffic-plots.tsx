// Throughput and waiting time over the chosen span, with marks for what explains them. The last hour is by minute.

import { axisCount, axisDuration, count, duration } from "../format.ts";
import { MarkList, plotMarks } from "../parts/charts/mark-list.tsx";
import { Plot, PlotLegend, type PlotLine, type PlotMark } from "../parts/charts/plot.tsx";
import { Panel } from "../parts/page.tsx";
import { lastOf } from "../state/span.ts";
import { minutesOfHour } from "../state/throughput.ts";
import { type Figures, inSteps } from "./figures.ts";

const HEIGHT = 124;

const wholeOnly = (value: number): string => (Number.isInteger(value) ? axisCount(value) : "");

interface Steps {
  readonly at: number;
  readonly completed: number;
  readonly failed: number;
}

const stepsOf = ({ activity: { period, series } }: Figures): Steps[] =>
  period === "1h" ? minutesOfHour() : series.map((step) => ({ ...step, at: Date.parse(step.at) }));

const Lately = () => {
  const [before, current] = minutesOfHour().slice(-2);
  const failed = (before?.failed ?? 0) + (current?.failed ?? 0);
  return (
    <>
      <strong class="num">{count(before?.completed ?? 0)}</strong> completed in the last full minute,{" "}
      {count(current?.completed ?? 0)} so far in this one
      {failed > 0 && (
        <>
          ; <span class="tone-stop">{count(failed)} failed</span>
        </>
      )}
    </>
  );
};

const STEP_NAMES = { "1h": "a minute", "24h": "an hour", "7d": "in 6 hours", "30d": "a day" } as const;

const ThroughputPlot = ({ figures, marks }: { figures: Figures; marks: readonly PlotMark[] }) => {
  const steps = stepsOf(figures);
  const { period, total } = figures.activity;
  const lines: PlotLine[] = [
    {
      label: "completed",
      values: steps.map(({ completed, failed }) => completed + failed),
      // Beside red, green is the same olive to a colour-blind reader.
      colour: "--accent",
      kind: "bars",
      from: steps.map(({ failed }) => failed),
    },
    { label: "failed", values: steps.map(({ failed }) => failed), colour: "--red", kind: "bars" },
  ];
  return (
    <Panel title={`Jobs ${STEP_NAMES[period]}`} aside={<PlotLegend lines={lines} />} class="span-plot">
      <p class="plot-says">
        <Lately />
      </p>
      <Plot
        name={`Jobs that ended in the ${lastOf(period)}, ${STEP_NAMES[period]}: ${total.completed} completed, ${total.failed} failed`}
        at={steps.map(({ at }) => at / 1000)}
        lines={lines}
        unit={wholeOnly}
        height={HEIGHT}
        marks={marks}
      />
      <MarkList marks={marks} />
    </Panel>
  );
};

const WaitingPlot = ({ figures, marks }: { figures: Figures; marks: readonly PlotMark[] }) => {
  const { activity, latency } = figures;
  const { p50, p95 } = latency.total.queue_wait_ms;
  const lines: PlotLine[] = [
    {
      label: "95 of 100 within",
      values: inSteps(figures, (row) => row.queue_wait_ms.p95),
      colour: "--amber",
      kind: "line",
    },
    { label: "median", values: inSteps(figures, (row) => row.queue_wait_ms.p50), colour: "--accent", kind: "line" },
  ];
  const says =
    p50 === null || p95 === null
      ? `No job was completed in the ${lastOf(activity.period)}`
      : `Median ${duration(p50)}, 95 of 100 within ${duration(p95)}`;
  return (
    <Panel title="Waiting time" aside={<PlotLegend lines={lines} />} class="span-plot">
      <p class="plot-says">{says}</p>
      <Plot
        name={`Waiting time before a worker takes a job, over the ${lastOf(activity.period)}: ${says}`}
        at={activity.series.map(({ at }) => Date.parse(at) / 1000)}
        lines={lines}
        unit={axisDuration}
        height={HEIGHT}
        marks={marks}
      />
    </Panel>
  );
};

export const TrafficPlots = ({ figures }: { figures: Figures }) => {
  const marks = plotMarks(figures.marks);
  return (
    <>
      <ThroughputPlot figures={figures} marks={marks} />
      <WaitingPlot figures={figures} marks={marks} />
    </>
  );
};
