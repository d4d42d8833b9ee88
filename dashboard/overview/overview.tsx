// The overview: is it well, and what is wrong? The line and its signal, five figures over the chosen span, what happened
// when, what waits and why, what fails; below, how long jobs take, and the fleet.

import { FleetGlance } from "../parts/charts/fleet-glance.tsx";
import { ForOperators } from "../parts/for-operators.tsx";
import { Loading, Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { SpanChoice } from "../parts/span-choice.tsx";
import { hasSnapshot } from "../state/board.ts";
import { lastOf, span } from "../state/span.ts";
import { Attention } from "./attention.tsx";
import { useBudgets } from "./cost-tile.tsx";
import { FailingList } from "./failing-list.tsx";
import { useFigures } from "./figures.ts";
import { FirstRun } from "./first-run.tsx";
import { LatencyPanel } from "./latency-panel.tsx";
import { Tiles } from "./tiles.tsx";
import { Track } from "./track.tsx";
import { TrafficPlots } from "./traffic-plots.tsx";
import { Turns } from "./turns.tsx";
import { WaitingList } from "./waiting-list.tsx";

const Actions = () => (
  <>
    <SpanChoice />
    <ForOperators>
      <a class="button primary" href="#/jobs/new">
        New job
      </a>
    </ForOperators>
  </>
);

export const Overview = () => {
  const { data: figures, error, reload } = useFigures();
  const budgets = useBudgets();
  return (
    <Page title="Overview" actions={<Actions />}>
      <FirstRun isDue={figures !== null || error !== null} />
      <Track />
      <Attention />
      <Problem error={error} retry={reload} />
      {figures === null ? (
        <div class="tiles tiles-empty">{error === null && <Loading what="the figures" />}</div>
      ) : (
        <Tiles figures={figures} budgets={budgets} />
      )}
      <div class="grid overview-grid">
        {figures === null ? <div class="plots-empty span-all" /> : <TrafficPlots figures={figures} />}
        <Panel
          title="Waiting"
          aside={<a href="#/jobs?status=pending&sort=-created_at">All that wait</a>}
          class="span-plot"
        >
          {hasSnapshot.value ? <WaitingList /> : <Loading what="the queue" />}
        </Panel>
        <Panel
          title={`Failing in the ${lastOf(span.value)}`}
          aside={<a href="#/jobs?status=failed&sort=finished_at">All that failed</a>}
          class="span-plot"
        >
          <FailingList />
        </Panel>
        <Turns />
        {(figures !== null || error === null) && <LatencyPanel latency={figures?.latency ?? null} />}
        <Panel title="Fleet" aside={<a href="#/fleet">All workers</a>} class="span-all">
          <FleetGlance />
        </Panel>
      </div>
    </Page>
  );
};
