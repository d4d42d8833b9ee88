// Throughput and waiting time of the last hour, with the latest numbers as text.

import { count, duration, plural } from "../format.ts";
import { Panel } from "../parts/page.tsx";
import { Plot, PlotLegend, type PlotLine } from "../parts/plot.tsx";
import { minutes } from "../state/board.ts";
import { now } from "../state/clock.ts";
import { throughput, trafficVersion, waiting } from "../state/traffic.ts";
import { waits } from "../state/waiting.ts";

const wholeOnly = (value: number): string => (Number.isInteger(value) ? count(value) : "");
const wait = (seconds: number): string => duration(seconds * 1000);

export const ThroughputPlot = () => {
  const { at, completed, failed } = throughput(minutes.value);
  const [inLast, inThis] = [completed.at(-2) ?? 0, completed.at(-1) ?? 0];
  const failedLately = (failed.at(-2) ?? 0) + (failed.at(-1) ?? 0);
  const lines: PlotLine[] = [
    {
      label: "completed",
      values: completed.map((value, index) => value + (failed[index] ?? 0)),
      // Beside red, green is the same olive to a colour-blind reader.
      colour: "--accent",
      kind: "bars",
    },
    { label: "failed", values: failed, colour: "--red", kind: "bars" },
  ];
  return (
    <Panel title="Throughput" aside={<PlotLegend lines={lines} />} class="span-plot">
      <p class="plot-says">
        <strong class="num">{count(inLast)}</strong> completed in the last full minute, {count(inThis)} in this one
        {failedLately > 0 && (
          <>
            ; <span class="tone-stop">{count(failedLately)} failed</span> in the two
          </>
        )}
      </p>
      <Plot
        name={`Jobs finished in each minute of the last hour: ${inLast} completed in the last full one`}
        at={at}
        lines={lines}
        unit={wholeOnly}
      />
    </Panel>
  );
};

/** The plot knows only jobs that were taken: those that wait on would be missing. */
const StillWaiting = () => {
  const all = waits.value;
  if (all.length === 0) return null;
  const many = all.reduce((sum, one) => sum + one.count, 0);
  const oldestAt = Math.min(...all.map((one) => Date.parse(one.oldestAt)));
  return (
    <span class="tone-caution">
      ; {plural(many, "job still waits", "jobs still wait")}, the oldest for{" "}
      {duration(Math.max(0, now.value - oldestAt))}
    </span>
  );
};

export const WaitingPlot = () => {
  // Updated as the socket reports jobs.
  trafficVersion.value;
  const { at, medianSeconds, longestSeconds } = waiting();
  const latest = medianSeconds.findLast((value) => value !== null) ?? null;
  const lines: PlotLine[] = [
    { label: "longest", values: longestSeconds, colour: "--amber", kind: "line" },
    { label: "median", values: medianSeconds, colour: "--accent", kind: "line" },
  ];
  return (
    <Panel title="Waiting time" aside={<PlotLegend lines={lines} />} class="span-plot">
      <p class="plot-says">
        {latest === null ? (
          "No job was given to a worker while this page was open"
        ) : (
          <>
            Jobs that a worker took waited <strong class="num">{wait(latest)}</strong> (median of the last minute with
            any)
          </>
        )}
        <StillWaiting />
      </p>
      <Plot
        name={`Waiting time before a worker takes a job: median ${latest === null ? "unknown" : wait(latest)}`}
        at={at}
        lines={lines}
        unit={(seconds) => (seconds === 0 ? "0" : wait(seconds))}
      />
    </Panel>
  );
};
