// One job: what was asked, what came of it, how it got there, and what can be done with it.

import type { JobEventResource, JobResource } from "../../contract/job.ts";
import { api } from "../api.ts";
import { JobActions } from "../parts/job-actions.tsx";
import { JobFacts } from "../parts/job-facts.tsx";
import { Loading, Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { RouterPreview } from "../parts/router-preview.tsx";
import { JobStatus } from "../parts/status.tsx";
import { TextBlock } from "../parts/text-block.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { jobs } from "../state/board.ts";
import { useLoad } from "../state/load.ts";

const BACK = { label: "Jobs", href: "#/jobs" };
const TITLE_CHARS = 80;

const titleOf = (job: JobResource): string => {
  const line = job.prompt.trim().split("\n")[0] ?? "";
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS)}…` : line || job.id;
};

const Outcome = ({ job }: { job: JobResource }) => (
  <>
    {job.status === "pending" && job.waiting_reason !== null && (
      <p class="verdict verdict-caution">Waits: {job.waiting_reason}</p>
    )}
    {job.error !== null && (
      <Panel title={job.status === "failed" ? "Error" : "Last error"} class="panel-stop">
        <p>
          <code>{job.error.code}</code>
          {job.error.status !== undefined && <> · status {job.error.status}</>} ·{" "}
          {job.error.retryable ? "may be retried" : "not worth a retry"}
        </p>
        <TextBlock name="Error message" value={job.error.message} />
      </Panel>
    )}
    {job.result !== null && (
      <Panel title="Result">
        <TextBlock name="Result" value={job.result} />
      </Panel>
    )}
    {job.progress !== null && job.result === null && (
      <Panel title="Progress">
        <TextBlock name="Progress" value={job.progress} />
      </Panel>
    )}
  </>
);

const Ready = ({
  job,
  events,
  reload,
}: {
  job: JobResource;
  events: readonly JobEventResource[];
  reload: () => void;
}) => (
  <Page
    title={titleOf(job)}
    back={BACK}
    lead={
      <>
        <JobStatus status={job.status} /> <code class="id">{job.id}</code>
      </>
    }
    actions={<JobActions job={job} onDone={reload} />}
  >
    <div class="split split-wide">
      <div class="stack-panels">
        <Outcome job={job} />
        <Panel title="Prompt">
          <TextBlock name="Prompt" value={job.prompt} />
        </Panel>
        {job.input !== null && (
          <Panel title="Input">
            <TextBlock name="Input" value={job.input} />
          </Panel>
        )}
        {job.status === "pending" && (
          <Panel title="Who would get it now">
            <RouterPreview query={{ job_id: job.id }} />
          </Panel>
        )}
      </div>
      <div class="stack-panels">
        <Panel title="Facts">
          <JobFacts job={job} />
        </Panel>
        <Panel title="Timeline">
          <Timeline events={events} />
        </Panel>
      </div>
    </div>
  </Page>
);

export const JobPage = ({ id }: { id: string }) => {
  // Read anew whenever the socket tells of a change.
  const changed = jobs.value.get(id);
  const { data, error, reload } = useLoad(
    `${id} ${changed?.updated_at} ${changed?.status} ${changed?.waiting_reason}`,
    async (signal) => {
      const [job, { events }] = await Promise.all([api.jobs.get(id, { signal }), api.jobs.events(id, { signal })]);
      return { job, events };
    },
  );
  if (data !== null) return <Ready job={data.job} events={data.events} reload={reload} />;
  return (
    <Page title="Job" back={BACK}>
      {error === null ? <Loading what="the job" /> : <Problem error={error} retry={reload} />}
    </Page>
  );
};
