// Throughput and waiting time of the last quarter of an hour, with their latest numbers in words.

import { duration } from "../format.ts";
import { now } from "../state/clock.ts";
import { BUCKET_MS, traffic, trafficVersion } from "../state/traffic.ts";
import { Panel } from "./page.tsx";
import { type Line, Plot, PlotLegend } from "./plot.tsx";

const LAST_MINUTE = 60_000 / BUCKET_MS;
const REDRAW_EVERY_MS = 2000;

const useTraffic = () => {
  // Subscribes to both: the clock moves the window, the version fills it.
  const tick = Math.floor(now.value / REDRAW_EVERY_MS);
  return { tick, version: trafficVersion.value, ...traffic() };
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const wholeOnly = (value: number): string => (Number.isInteger(value) ? String(value) : "");
const wait = (seconds: number): string => duration(seconds * 1000);

export const ThroughputPlot = () => {
  const { at, completed, failed } = useTraffic();
  const perMinute = sum(completed.slice(-LAST_MINUTE));
  const failedPerMinute = sum(failed.slice(-LAST_MINUTE));
  const lines: Line[] = [
    {
      label: "completed",
      values: completed.map((value, index) => value + (failed[index] ?? 0)),
      colour: "--green",
      kind: "bars",
    },
    { label: "failed", values: failed, colour: "--red", kind: "bars" },
  ];
  return (
    <Panel title="Throughput" aside={<PlotLegend lines={lines} />} class="span-plot">
      <p class="plot-says">
        <strong class="num">{perMinute}</strong> completed in the last minute
        {failedPerMinute > 0 && <span class="tone-stop">, {failedPerMinute} failed</span>}
      </p>
      <Plot
        name={`Jobs finished in each ten seconds: ${perMinute} completed, ${failedPerMinute} failed in the last minute`}
        at={at}
        lines={lines}
        unit={wholeOnly}
      />
    </Panel>
  );
};

export const WaitingPlot = () => {
  const { at, medianWaitSeconds, longestWaitSeconds } = useTraffic();
  const latest = medianWaitSeconds.findLast((value) => value !== null) ?? null;
  const lines: Line[] = [
    { label: "longest", values: longestWaitSeconds, colour: "--amber", kind: "line" },
    { label: "median", values: medianWaitSeconds, colour: "--accent", kind: "line" },
  ];
  return (
    <Panel title="Waiting time" aside={<PlotLegend lines={lines} />} class="span-plot">
      <p class="plot-says">
        {latest === null ? (
          "No job was given out in the last 15 minutes"
        ) : (
          <>
            median wait <strong class="num">{wait(latest)}</strong>
          </>
        )}
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
