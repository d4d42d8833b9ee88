// One worker: what it did over the chosen span, what it offers, its jobs, its recent outcomes, and why it is idle.

import type { WorkerDetail } from "../../contract/fleet/worker.ts";
import { api } from "../api.ts";
import { splitTags, withLocalTimes } from "../format.ts";
import { LoadBar } from "../parts/charts/load-bar.tsx";
import { Fact } from "../parts/fact.tsx";
import { JobTable } from "../parts/job-table.tsx";
import { Empty, LoadState, Page, Panel } from "../parts/page.tsx";
import { SpanChoice } from "../parts/span-choice.tsx";
import { OutcomeStatus, WorkerStatus } from "../parts/status.tsx";
import { Tags } from "../parts/tags.tsx";
import { Time } from "../parts/time.tsx";
import { WorkerActions } from "../parts/worker-actions.tsx";
import { href } from "../router.ts";
import { workers } from "../state/board.ts";
import { toLiveJob } from "../state/live-job.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { whyNot } from "../state/why-paused.ts";
import { GpuMemory } from "./fleet-columns.tsx";
import { IdleReasons } from "./idle-reasons.tsx";
import { WorkerFigures } from "./worker-figures.tsx";

const BACK = { label: "Fleet", href: "#/fleet" };
const REREAD_EVERY_MS = 1000;

const Facts = ({ worker }: { worker: WorkerDetail }) => (
  <dl class="facts">
    <Fact name="Provider">{worker.provider}</Fact>
    <Fact name="Load">
      <LoadBar load={worker.current_load} concurrency={worker.concurrency} />
    </Fact>
    <Fact name="Tags">
      {worker.tags === "" ? <span class="dim">none</span> : <Tags tags={splitTags(worker.tags)} max={32} />}
    </Fact>
    <Fact name="Models">
      {worker.models === null ? <span class="dim">any model</span> : <Tags tags={worker.models} max={50} />}
    </Fact>
    {worker.hardware !== null && (
      <Fact name="GPU memory">
        <GpuMemory worker={worker} />
      </Fact>
    )}
    {worker.hours !== null && (
      <Fact name="Hours">
        {worker.hours.hours} {worker.hours.timezone}
      </Fact>
    )}
    {worker.tier !== null && <Fact name="Tier">{worker.tier}</Fact>}
    <Fact name="Last heartbeat">
      <Time at={worker.last_heartbeat} />
    </Fact>
    <Fact name="Connection">{worker.connected ? "WebSocket" : "plain HTTP, or none now"}</Fact>
    {worker.version !== null && <Fact name="Version">{worker.version}</Fact>}
    <Fact name="Registered">
      <Time at={worker.registered_at} as="full" />
    </Fact>
  </dl>
);

const Outcomes = ({ outcomes }: { outcomes: WorkerDetail["recent_outcomes"] }) =>
  outcomes.length === 0 ? (
    <Empty title="It has not finished a job yet." />
  ) : (
    <ul class="outcomes">
      {outcomes.map((one) => (
        <li key={`${one.job_id} ${one.at}`}>
          <OutcomeStatus outcome={one.outcome} />
          <a class="id" title={one.job_id} href={href(["jobs", one.job_id])}>
            {one.job_id.slice(-12)}
          </a>
          <span class="dim">
            <Time at={one.at} />
          </span>
          {one.code !== null && <code class="tone-stop">{one.code}</code>}
        </li>
      ))}
    </ul>
  );

const WhyNot = ({ worker }: { worker: WorkerDetail }) => {
  const why = whyNot(worker);
  return why === null ? null : <span class="tone-caution">{withLocalTimes(why)}</span>;
};

const Ready = ({ worker, reload }: { worker: WorkerDetail; reload: () => void }) => (
  <Page
    title={worker.instance}
    back={BACK}
    lead={
      <>
        <WorkerStatus worker={worker} />
        <WhyNot worker={worker} />
      </>
    }
    actions={
      <>
        <SpanChoice />
        <WorkerActions worker={worker} onDone={reload} />
      </>
    }
  >
    <WorkerFigures instance={worker.instance} changed={worker.recent_outcomes[0]?.job_id ?? ""} />
    <div class="split split-wide">
      <div class="stack-panels">
        <Panel title="Current jobs">
          {worker.jobs.length === 0 ? (
            <Empty title="Nothing at the moment.">
              <IdleReasons worker={worker} />
            </Empty>
          ) : (
            <JobTable jobs={worker.jobs.map(toLiveJob)} name="Open jobs of this worker" />
          )}
        </Panel>
        <Panel title="Recent outcomes" aside={<a href={href(["jobs"], { worker: worker.instance })}>All its jobs</a>}>
          <Outcomes outcomes={worker.recent_outcomes} />
          {worker.recent_outcomes.some(({ outcome }) => outcome === "failed") && (
            <p class="dim">A job stands here as it last ended on this worker, also if another one did it then.</p>
          )}
        </Panel>
      </div>
      <Panel title="Facts">
        <Facts worker={worker} />
      </Panel>
    </div>
  </Page>
);

export const WorkerPage = ({ id: instance }: { id: string }) => {
  const live = workers.value.get(instance);
  const changed = useThrottled(
    `${live?.current_load} ${live?.status} ${live?.paused} ${live?.pause_reason} ${live?.paused_until}`,
    REREAD_EVERY_MS,
  );
  const { data, error, reload } = useLoad(`${instance} ${changed}`, (signal) => api.workers.get(instance, { signal }));
  if (data !== null) return <Ready worker={{ ...data, ...live }} reload={reload} />;
  return (
    <Page title={instance} back={BACK}>
      <LoadState data={null} error={error} retry={reload} what="the worker" />
    </Page>
  );
};
