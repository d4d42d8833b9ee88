// One schedule: what it sends and when, its next runs, and all its runs.

import type { ScheduleResource, ScheduleRunResource } from "../../contract/schedule.ts";
import { api } from "../api.ts";
import { plural, readerZone, withLocalTimes } from "../format.ts";
import { AskedFacts, Fact } from "../parts/fact.tsx";
import { Empty, LoadState, Page, Panel } from "../parts/page.tsx";
import { offsetInAddress, PAGE_SIZE, Pager } from "../parts/pager.tsx";
import { JobStatus, OutcomeStatus, ScheduleStatus } from "../parts/status.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { Time } from "../parts/time.tsx";
import { href } from "../router.ts";
import { jobs, schedules } from "../state/board.ts";
import { useLoad } from "../state/load.ts";
import { mayOperate } from "../state/session.ts";
import { NextRuns } from "./next-runs.tsx";
import { ScheduleActions } from "./schedule-actions.tsx";
import { timingOf } from "./schedule-timing.ts";

const BACK = { label: "Schedules", href: "#/schedules" };
const PREVIEW = 5;

const Run = ({ run }: { run: ScheduleRunResource }) => {
  const status = (run.job_id === null ? undefined : jobs.value.get(run.job_id)?.status) ?? run.job_status;
  return (
    <tr>
      <td class="cell-status">
        <OutcomeStatus outcome={run.outcome} />
      </td>
      <td>
        <Time at={run.scheduled_for} as="full" />
        {run.missed > 0 && (
          <span class="row-note tone-caution">
            late; {plural(run.missed, "run")} before it {run.missed === 1 ? "was" : "were"} missed
          </span>
        )}
        {run.reason !== null && <span class="row-note">{withLocalTimes(run.reason)}</span>}
      </td>
      <td>
        {run.job_id === null ? (
          <span class="dim">no job</span>
        ) : (
          <a href={href(["jobs", run.job_id])}>{status === null ? "job" : <JobStatus status={status} />}</a>
        )}
      </td>
      <td class="num cell-wide">
        <Time at={run.ran_at} />
      </td>
    </tr>
  );
};

const COLUMNS: readonly Column[] = [
  { title: "Outcome" },
  { title: "Due" },
  { title: "Job" },
  { title: "Ran", class: "num cell-wide" },
];

const History = ({ name, version }: { name: string; version: string }) => {
  const offset = offsetInAddress();
  const { data, error, reload } = useLoad(`${name} ${offset} ${version}`, (signal) =>
    api.schedules.history(name, { limit: PAGE_SIZE, offset }, { signal }),
  );
  if (data === null || error !== null) return <LoadState data={data} error={error} retry={reload} what="the history" />;
  if (data.total === 0)
    return <Empty title="It has not run yet.">{mayOperate.value && "Use “Run now” to try it."}</Empty>;
  return (
    <>
      <Table name="Runs, newest first" columns={COLUMNS}>
        {data.history.map((run) => (
          <Run key={run.scheduled_for + run.ran_at} run={run} />
        ))}
      </Table>
      <Pager total={data.total} offset={offset} one="run" />
    </>
  );
};

const Facts = ({ schedule }: { schedule: ScheduleResource }) => (
  <dl class="facts">
    <Fact name="Runs">
      <code>{timingOf(schedule)}</code>
    </Fact>
    <Fact name="If the last run is open">{schedule.overlap === "skip" ? "skip the run" : "run anyway"}</Fact>
    <AskedFacts {...schedule} />
    <Fact name="Last run">
      <Time at={schedule.last_run_at} />
    </Fact>
  </dl>
);

const Ready = ({ schedule, reload, version }: { schedule: ScheduleResource; reload: () => void; version: string }) => (
  <Page
    title={schedule.name}
    back={BACK}
    lead={<ScheduleStatus status={schedule.status} />}
    actions={<ScheduleActions schedule={schedule} onDone={reload} />}
  >
    <div class="split split-wide">
      <div class="stack-panels">
        <Panel title="History">
          <History name={schedule.name} version={version} />
        </Panel>
        <Panel title="Prompt">
          <TextBlock name="Prompt" value={schedule.prompt} />
        </Panel>
        {schedule.input !== null && (
          <Panel title="Input">
            <TextBlock name="Input" value={schedule.input} />
          </Panel>
        )}
      </div>
      <div class="stack-panels">
        <Panel title="Next runs">
          {schedule.status === "active" ? (
            <NextRuns
              runs={schedule.next_runs ?? []}
              timezone={schedule.cron === null ? readerZone() : schedule.timezone}
            />
          ) : (
            <p class="dim">
              It is paused{mayOperate.value ? ". Resume it to see its next runs." : ": it has no next runs."}
            </p>
          )}
        </Panel>
        <Panel title="Facts">
          <Facts schedule={schedule} />
        </Panel>
      </div>
    </div>
  </Page>
);

export const SchedulePage = ({ name }: { name: string }) => {
  const live = schedules.value?.find((one) => one.name === name);
  const version = `${live?.status} ${live?.next_run_at} ${live?.last_run_at}`;
  const { data, error, reload } = useLoad(`${name} ${version}`, (signal) =>
    api.schedules.get(name, { preview: PREVIEW, signal }),
  );
  if (data !== null) return <Ready schedule={data} reload={reload} version={version} />;
  return (
    <Page title={name} back={BACK}>
      <LoadState data={null} error={error} retry={reload} what="the schedule" />
    </Page>
  );
};
