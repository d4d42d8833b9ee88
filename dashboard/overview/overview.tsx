// The overview: what is wrong, on one screen: the line and its signal, what waits and why, what fails, the day's cost
// and budget, throughput, waiting times, the fleet.

import { FleetGlance } from "../parts/fleet-glance.tsx";
import { ForOperators } from "../parts/for-operators.tsx";
import { Loading, Page, Panel } from "../parts/page.tsx";
import { hasSnapshot } from "../state/board.ts";
import { Attention } from "./attention.tsx";
import { CostToday } from "./cost-today.tsx";
import { FailingList } from "./failing-list.tsx";
import { FirstRun } from "./first-run.tsx";
import { LatencyPanel } from "./latency-panel.tsx";
import { Track } from "./track.tsx";
import { ThroughputPlot, WaitingPlot } from "./traffic-plots.tsx";
import { WaitingList } from "./waiting-list.tsx";

export const Overview = () => (
  <Page
    title="Overview"
    actions={
      <ForOperators>
        <a class="button primary" href="#/jobs/new">
          New job
        </a>
      </ForOperators>
    }
  >
    <FirstRun />
    <Track />
    <Attention />
    <div class="grid overview-grid">
      <Panel title="Waiting" aside={<a href="#/jobs?status=pending&sort=-created_at">All that wait</a>} class="span-2">
        {hasSnapshot.value ? <WaitingList /> : <Loading what="the queue" />}
      </Panel>
      <Panel title="Cost today" aside={<a href="#/cost">By provider</a>}>
        <CostToday />
      </Panel>
      <Panel
        title="Failing in the last hour"
        aside={<a href="#/jobs?status=failed&range=1h">All that failed</a>}
        class="span-all"
      >
        <FailingList />
      </Panel>
      <ThroughputPlot />
      <WaitingPlot />
      <LatencyPanel />
      <Panel title="Fleet" aside={<a href="#/fleet">All workers</a>} class="span-all">
        <FleetGlance />
      </Panel>
    </div>
  </Page>
);
