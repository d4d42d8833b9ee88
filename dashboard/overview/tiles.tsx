// Is it well? Errors, throughput, wait, capacity and cost, each with its unit, its span and how it went.

import type { CostSummary } from "../../contract/cost.ts";
import { MINUTE_MS } from "../../contract/words/values.ts";
import { count, duration, plural } from "../format.ts";
import { Tile, UNKNOWN } from "../parts/charts/tile.tsx";
import { href } from "../router.ts";
import { fleetSum } from "../state/board.ts";
import { now } from "../state/clock.ts";
import type { Loaded } from "../state/load.ts";
import { lastOf } from "../state/span.ts";
import { waits } from "../state/waiting.ts";
import { CostTile } from "./cost-tile.tsx";
import { type Figures, inSteps } from "./figures.ts";

/** From here on a share of failures is a caution, and an alarm. */
const CAUTION_FROM = 0.01;
const STOP_FROM = 0.1;

const shareFailed = ({ completed, failed }: { completed: number; failed: number }): number | null =>
  completed + failed === 0 ? null : failed / (completed + failed);

/** Never zero for what is more. */
export const percent = (share: number): string => {
  const value = share * 100;
  if (value > 0 && value < 0.1) return "< 0.1";
  return value > 0 && value < 10 ? value.toFixed(1) : String(Math.round(value));
};

/** A job counts towards the list's span by when it was created: the nearest that the list offers. */
const RANGES = { "1h": "1h", "24h": "24h", "7d": "7d", "30d": null } as const;

const toneOf = (share: number) =>
  share >= STOP_FROM ? ({ tone: "stop" } as const) : share >= CAUTION_FROM ? ({ tone: "caution" } as const) : {};

const ErrorTile = ({ activity: { total, series, period } }: Figures) => {
  const share = shareFailed(total);
  return (
    <Tile
      title="Error rate"
      figure={share === null ? UNKNOWN : percent(share)}
      unit="%"
      {...toneOf(share ?? 0)}
      href={href(["jobs"], { status: "failed", range: RANGES[period], sort: "finished_at" })}
      note={
        share === null
          ? `no job ended in the ${lastOf(period)}`
          : `${count(total.failed)} failed in the ${lastOf(period)}`
      }
      spark={{ name: `Error rate over the ${lastOf(period)}`, values: series.map(shareFailed), colour: "--red" }}
    />
  );
};

/** The rate over the counted time, which is less than the period; per the shortest unit that gives at least one. */
export const rateOf = ({ from, to }: { from: string; to: string }, jobs: number): { figure: string; unit: string } => {
  const perMinute = (jobs * MINUTE_MS) / (Date.parse(to) - Date.parse(from));
  const [rate, unit] =
    perMinute >= 60
      ? [perMinute / 60, "/ s"]
      : perMinute >= 1 || jobs === 0
        ? [perMinute, "/ min"]
        : [perMinute * 60, "/ h"];
  return { figure: rate >= 10 || rate === 0 ? count(Math.round(rate)) : rate.toFixed(1), unit: `jobs ${unit}` };
};

const ThroughputTile = ({ activity: { total, series, period, ...counted } }: Figures) => (
  <Tile
    title="Throughput"
    {...rateOf(counted, total.completed)}
    href={href(["jobs"], { status: "completed", range: RANGES[period] })}
    note={`${count(total.completed)} completed in the ${lastOf(period)}`}
    spark={{
      name: `Jobs completed over the ${lastOf(period)}`,
      values: series.map(({ completed }) => completed),
      colour: "--accent",
    }}
  />
);

/** The tile's other figures are only of jobs that were taken, not of those that still wait. */
const StillWaiting = () => {
  const all = waits.value;
  if (all.length === 0) return <>nothing waits now</>;
  const many = all.reduce((sum, one) => sum + one.count, 0);
  const oldestAt = Math.min(...all.map((one) => Date.parse(one.oldestAt)));
  return (
    <span class="tone-caution">
      {plural(many, "waits", "wait")} now, the oldest for {duration(Math.max(0, now.value - oldestAt))}
    </span>
  );
};

const WaitTile = (figures: Figures) => {
  const { p95 } = figures.latency.total.queue_wait_ms;
  const { period } = figures.activity;
  const [figure = "–", ...unit] = p95 === null ? ["–"] : duration(p95).split(" ");
  return (
    <Tile
      title="Wait"
      figure={unit.length > 1 ? [figure, ...unit].join(" ") : figure}
      {...(unit.length === 1 ? { unit: `${unit[0]} p95` } : { unit: "p95" })}
      href="#/jobs?status=pending&sort=-created_at"
      note={<StillWaiting />}
      spark={{
        name: `Wait of 95 of 100 jobs over the ${lastOf(period)}`,
        values: inSteps(figures, (row) => row.queue_wait_ms.p95),
        colour: "--amber",
      }}
    />
  );
};

const CapacityTile = ({ activity: { series, period, total } }: Figures) => {
  const [places, load] = [fleetSum((one) => one.places), fleetSum((one) => one.load)];
  const share = places === 0 ? null : load / places;
  // The figures are read again when jobs end, the load is live.
  const most = Math.max(load, total.most_under_way);
  return (
    <Tile
      title="Capacity"
      figure={share === null ? UNKNOWN : String(Math.round(share * 100))}
      unit="% taken"
      {...(share === null ? { tone: "stop" as const } : share >= 1 ? { tone: "caution" as const } : {})}
      href="#/fleet"
      note={`${count(load)} of ${plural(places, "place")} now; at most ${count(most)} in the ${lastOf(period)}`}
      spark={{
        name: `Most jobs under way at once over the ${lastOf(period)}`,
        values: series.map(({ most_under_way }) => most_under_way),
        colour: "--part-success",
      }}
    />
  );
};

export const Tiles = ({ figures, budgets }: { figures: Figures; budgets: Loaded<CostSummary> }) => (
  <div class="tiles">
    <ErrorTile {...figures} />
    <ThroughputTile {...figures} />
    <WaitTile {...figures} />
    <CapacityTile {...figures} />
    <CostTile activity={figures.activity} budgets={budgets} />
  </div>
);
