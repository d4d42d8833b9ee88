// A job's fields as a list; fields that were not requested are not shown.

import type { JobResource } from "../../../contract/jobs/job.ts";
import { count, plural, usd } from "../../format.ts";
import { AskedFacts, Fact } from "../../parts/fact.tsx";
import { Took } from "../../parts/job-table.tsx";
import { copy } from "../../parts/text-block.tsx";
import { Time } from "../../parts/time.tsx";
import { href } from "../../router.ts";
import { isOpen } from "../../state/board.ts";

const costOf = (job: JobResource): string => {
  if (job.cost_usd !== null) return usd(job.cost_usd);
  // A completed job has cost something, whether its worker told its tokens or not: the cost counts it as unpriced.
  if (job.usage !== null || job.status === "completed") return "unknown: no price is known for it";
  return isOpen(job.status) ? "nothing spent yet" : "nothing spent";
};

const CopyButton = ({ what, text }: { what: string; text: string }) => (
  <button type="button" class="button small" aria-label={`Copy: ${what}`} onClick={() => copy(text)}>
    {what}
  </button>
);

const curlOf = (job: JobResource): string =>
  `curl -H "Authorization: Bearer $SERVICE_API_KEY" ${location.origin}/api/jobs/${encodeURIComponent(job.id)}`;

export const CopyFacts = ({ job }: { job: JobResource }) => (
  <p class="actions copy-row">
    <span class="dim">Copy</span>
    <CopyButton what="id" text={job.id} />
    <CopyButton what="link" text={location.href} />
    <CopyButton what="curl" text={curlOf(job)} />
  </p>
);

const ranBy = (job: JobResource): string | null =>
  job.ran_provider === null && job.ran_model === null
    ? null
    : [job.ran_provider, job.ran_model].filter((part) => part !== null).join(", ");

/** Of W3C Trace Context: `<version>-<trace id>-<span id>-<flags>`. */
const traceIdOf = ({ traceparent }: JobResource): string | null => traceparent?.split("-")[1] ?? null;

/** Leases count assignments, attempts count starts; they differ if a lease came back unstarted. */
const assignedOften = (job: JobResource): string =>
  job.lease > job.attempts && job.lease > 1 ? `, assigned ${plural(job.lease, "time")}` : "";

const Times = ({ job }: { job: JobResource }) => (
  <>
    {job.timeout_seconds !== null && <Fact name="Timeout">{job.timeout_seconds} s</Fact>}
    {job.run_at !== null && (
      <Fact name="Not before">
        <Time at={job.run_at} as="full" />
      </Fact>
    )}
    <Fact name="Created">
      <Time at={job.created_at} as="full" />
    </Fact>
    {job.started_at !== null && (
      <Fact name="Started">
        <Time at={job.started_at} as="full" />
      </Fact>
    )}
    {job.finished_at !== null && (
      <Fact name="Finished">
        <Time at={job.finished_at} as="full" />
      </Fact>
    )}
  </>
);

/** Where it comes from, if not from a plain call. */
const Origin = ({ job }: { job: JobResource }) => (
  <>
    {job.api !== null && (
      <Fact name="Came by">
        <code>/v1/{job.api}</code>
      </Fact>
    )}
    {job.schedule !== null && (
      <Fact name="Schedule">
        <a href={href(["schedules", job.schedule])}>{job.schedule}</a>
      </Fact>
    )}
    {job.batch !== null && (
      <Fact name="Batch">
        <a href={href(["batches", job.batch])}>{job.batch}</a>
        {job.custom_id !== null && <span class="row-note dim">line {job.custom_id}</span>}
      </Fact>
    )}
    {traceIdOf(job) !== null && (
      <Fact name="Trace">
        <code class="trace-id">{traceIdOf(job)}</code>{" "}
        <button type="button" class="button small" onClick={() => copy(traceIdOf(job) ?? "")}>
          Copy trace id
        </button>
      </Fact>
    )}
  </>
);

const Spent = ({ job }: { job: JobResource }) => (
  <>
    <Fact name="Attempts">
      {job.attempts}
      {job.max_attempts !== null && ` of ${job.max_attempts}`}
      <span class="dim">{assignedOften(job)}</span>
    </Fact>
    <Fact name={job.attempts > 1 ? "Cost, last attempt" : "Cost"}>{costOf(job)}</Fact>
    {job.usage !== null && (
      <Fact name={job.attempts > 1 ? "Tokens, last attempt" : "Tokens"}>
        {count(job.usage.input_tokens)} in, {count(job.usage.output_tokens)} out
        {(job.usage.cached_input_tokens ?? 0) > 0 && `, ${count(job.usage.cached_input_tokens ?? 0)} cached`}
      </Fact>
    )}
  </>
);

export const JobFacts = ({ job }: { job: JobResource }) => (
  <dl class="facts">
    <AskedFacts {...job} />
    {job.assigned_worker !== null && (
      <Fact name="Worker">
        <a href={href(["fleet", job.assigned_worker])}>{job.assigned_worker}</a>
      </Fact>
    )}
    {ranBy(job) !== null && <Fact name="Ran on">{ranBy(job)}</Fact>}
    {job.archived && <Fact name="Archived">it has left history, and can be read but not changed</Fact>}
    <Origin job={job} />
    <Spent job={job} />
    {Object.keys(job.metadata).length > 0 && (
      <Fact name="Metadata">
        {Object.entries(job.metadata).map(([name, value]) => (
          <span key={name} class="row-note">
            {name}: {value}
          </span>
        ))}
      </Fact>
    )}
    <Times job={job} />
    <Fact name={job.status === "pending" ? "Queue" : "Took"}>
      <Took job={job} />
    </Fact>
  </dl>
);
