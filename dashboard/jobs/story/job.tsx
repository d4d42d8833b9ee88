// One job as a story: what was answered, where the time went, what was asked, who decided what.

import type { AttemptResource } from "../../../contract/jobs/insight.ts";
import type { JobEventResource, JobResource } from "../../../contract/jobs/job.ts";
import type { LiveJob } from "../../../contract/live.ts";
import { api } from "../../api.ts";
import { bytesText, shortened, trimmed, withLocalTimes } from "../../format.ts";
import { Empty, LoadState, Page, Panel } from "../../parts/page.tsx";
import { JobStatus } from "../../parts/status.tsx";
import { StoredFile, StoredFiles } from "../../parts/stored-files.tsx";
import { TextBlock } from "../../parts/text-block.tsx";
import { isOpen, jobs } from "../../state/board.ts";
import { useLoad } from "../../state/load.ts";
import { reasonOf } from "../../state/waiting.ts";
import { RouterPreview } from "../router-preview.tsx";
import { Attempts } from "./attempts.tsx";
import { DecisionView, isDecision } from "./decision.tsx";
import { JobActions } from "./job-actions.tsx";
import { CopyFacts, JobFacts } from "./job-facts.tsx";
import { backOf, JobNav } from "./job-nav.tsx";
import { useJobStream } from "./job-stream.ts";
import { Timeline } from "./timeline.tsx";
import { ValueView } from "./value-view.tsx";

const TITLE_CHARS = 80;

const HEADING_MARK = /^#+\s+/;

const titleOf = (job: JobResource): string => {
  const [first = ""] = trimmed(job.prompt).split("\n");
  return shortened(first.replace(HEADING_MARK, ""), TITLE_CHARS) || job.id;
};

/** As it is now: the reason that was read with the job may be out of date. */
const Wait = ({ job }: { job: JobResource }) => {
  const reason = reasonOf(job);
  return reason === null ? null : <p class="verdict verdict-caution">Waits: {withLocalTimes(reason)}</p>;
};

const Failure = ({ job: { error, status } }: { job: JobResource }) =>
  error === null ? null : (
    <Panel title={status === "failed" ? "Error" : "Last error"} class="panel-stop">
      <p>
        <code>{error.code}</code>
        {error.status !== undefined && <> · status {error.status}</>} ·{" "}
        {error.retryable ? "may be retried" : "not retryable"}
      </p>
      <TextBlock name="Error message" value={withLocalTimes(error.message)} />
    </Panel>
  );

/** A result that is not in the job: kept as a file, or passed on to its client alone. */
const LargeResult = ({ job: { result_file: file, result_bytes: bytes } }: { job: JobResource }) =>
  file === null ? (
    <Empty title={`It has ${bytesText(bytes ?? 0)}, and went to its client: it is not kept.`} />
  ) : (
    <StoredFiles>
      <StoredFile says="Result" id={file.id} />
    </StoredFiles>
  );

const noResult = ({ status, batch }: JobResource): string => {
  if (isOpen(status)) return "Nothing yet.";
  if (status !== "completed") return "None: the job did not complete.";
  return batch === null ? "None was kept." : "It is a line of its batch's output file.";
};

/** The result, the text while it is written, or the worker's progress. */
const Answer = ({ job }: { job: JobResource }) => {
  const streamed = useJobStream(job.id, job.stream && isOpen(job.status));
  if (job.result !== null) {
    return (
      <Panel title="Result">
        <ValueView name="Result" value={job.result} first="rendered" />
      </Panel>
    );
  }
  if (job.result_file !== null || job.result_bytes !== null) {
    return (
      <Panel
        title="Result"
        aside={<span class="num">{bytesText(job.result_file?.bytes ?? job.result_bytes ?? 0)}</span>}
      >
        <LargeResult job={job} />
      </Panel>
    );
  }
  if (streamed !== null) {
    return (
      <Panel title="Result, as it is written">
        <ValueView name="Result so far" value={streamed} first="rendered" />
      </Panel>
    );
  }
  if (job.progress !== null) {
    return (
      <Panel title="Progress">
        <ValueView name="Progress" value={job.progress} first="rendered" />
      </Panel>
    );
  }
  // Its error says more.
  if (job.status === "failed") return null;
  return (
    <Panel title="Result">
      <Empty title={noResult(job)} />
    </Panel>
  );
};

/** What its worker gets, and what it made. */
const Files = ({ job: { files, result_files: made } }: { job: JobResource }) =>
  files.length + made.length === 0 ? null : (
    <Panel title="Files">
      <StoredFiles>
        {files.map((id) => (
          <StoredFile key={id} says="Given" id={id} />
        ))}
        {made.map((file) => (
          <StoredFile key={file.id} says="Made" id={file.id} facts={file} />
        ))}
      </StoredFiles>
    </Panel>
  );

const Decision = ({ events }: { events: readonly JobEventResource[] }) => {
  const last = events.findLast(({ type, detail }) => type === "job.assigned" && isDecision(detail));
  if (last === undefined || !isDecision(last.detail)) return null;
  return (
    <Panel title={`Why ${last.worker}`} aside={<span class="num">score {last.detail.score.toFixed(1)}</span>}>
      <DecisionView decision={last.detail} chosen={last.worker ?? "chosen"} />
    </Panel>
  );
};

interface Read {
  readonly job: JobResource;
  readonly events: readonly JobEventResource[];
  readonly attempts: readonly AttemptResource[];
}

const Ready = ({ job, events, attempts, reload }: Read & { reload: () => void }) => (
  <Page
    title={titleOf(job)}
    back={backOf(job.id)}
    lead={
      <>
        <span role="status">
          <JobStatus status={job.status} />
        </span>{" "}
        <code class="id">{job.id}</code>
      </>
    }
    actions={
      <>
        <JobNav id={job.id} />
        <JobActions job={job} onDone={reload} />
      </>
    }
  >
    <Wait job={job} />
    <div class="split split-wide">
      <div class="stack-panels">
        <Failure job={job} />
        <Answer job={job} />
        <Attempts job={job} attempts={attempts} events={events} />
        <Files job={job} />
        <Panel title="Prompt">
          <ValueView name="Prompt" value={job.prompt} />
        </Panel>
        {job.input !== null && (
          <Panel title="Input">
            <ValueView name="Input" value={job.input} first="tree" />
          </Panel>
        )}
      </div>
      <div class="stack-panels">
        <Panel title="Facts" aside={<CopyFacts job={job} />}>
          <JobFacts job={job} />
        </Panel>
        {job.status === "pending" && (
          <Panel title="Who would get it now">
            <RouterPreview query={{ job_id: job.id }} />
          </Panel>
        )}
        <Decision events={events} />
        <Panel title="Timeline">
          <Timeline events={events} />
        </Panel>
      </div>
    </div>
  </Page>
);

/** A heartbeat brings progress and no other change: the socket's message has it, and nothing is read for it. */
const withProgress = (job: JobResource, live: LiveJob | undefined): JobResource =>
  live !== undefined && live.lease === job.lease && isOpen(job.status) ? { ...job, progress: live.progress } : job;

export const JobPage = ({ id }: { id: string }) => {
  // Read again when the socket reports a change.
  const changed = jobs.value.get(id);
  const { data, error, reload } = useLoad(
    `${id} ${changed?.updated_at} ${changed?.status} ${changed?.waiting_reason}`,
    async (signal) => {
      const [job, { events }, { attempts }] = await Promise.all([
        api.jobs.get(id, { signal }),
        api.jobs.events(id, { signal }),
        api.jobs.attempts(id, { signal }),
      ]);
      return { job, events, attempts };
    },
  );
  if (data !== null) return <Ready {...data} job={withProgress(data.job, changed)} reload={reload} />;
  return (
    <Page title="Job" back={backOf(id)}>
      <LoadState data={null} error={error} retry={reload} what="the job" />
    </Page>
  );
};
