// The state of the box on one screen: the line, what needs attention, throughput and waiting, the fleet, the day's cost.

import { useEffect } from "preact/hooks";
import { api } from "../api.ts";
import { plural, usd } from "../format.ts";
import { Attention } from "../parts/attention.tsx";
import { FleetGlance } from "../parts/fleet-glance.tsx";
import { Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { Track } from "../parts/track.tsx";
import { ThroughputPlot, WaitingPlot } from "../parts/traffic-plots.tsx";
import { todayUsd } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { seedTraffic } from "../state/traffic.ts";

const SEED_JOBS = 200;
const COST_EVERY_MS = 10_000;

const CostToday = () => {
  const spent = useThrottled(todayUsd.value, COST_EVERY_MS);
  const { data, error, reload } = useLoad(`cost ${spent}`, (signal) => api.cost.summary({ period: "day" }, { signal }));
  if (error !== null) return <Problem error={error} retry={reload} />;
  const total = todayUsd.value ?? data?.total_usd ?? null;
  return (
    <>
      <p class="figure num">{total === null ? "…" : usd(total)}</p>
      {data !== null && (
        <p class="figure-note">
          {plural(data.jobs, "job")}; yesterday {usd(data.previous_total_usd)}
          {data.unpriced_jobs > 0 && (
            <span class="tone-caution"> · {plural(data.unpriced_jobs, "job")} of unknown price, not in the sum</span>
          )}
        </p>
      )}
    </>
  );
};

export const Overview = () => {
  useEffect(() => {
    // Only colours the plots in; without the history they begin empty and fill by themselves.
    api.jobs
      .list({ limit: SEED_JOBS })
      .then(({ jobs }) => seedTraffic(jobs))
      .catch(() => undefined);
  }, []);
  return (
    <Page
      title="Overview"
      actions={
        <a class="button primary" href="#/jobs/new">
          New job
        </a>
      }
    >
      <Track />
      <div class="grid overview-grid">
        <Panel title="Needs attention" class="span-2">
          <Attention />
        </Panel>
        <Panel title="Cost today" aside={<a href="#/cost">By provider</a>}>
          <CostToday />
        </Panel>
        <ThroughputPlot />
        <WaitingPlot />
        <Panel title="Fleet" aside={<a href="#/fleet">All workers</a>} class="span-all">
          <FleetGlance />
        </Panel>
      </div>
    </Page>
  );
};
