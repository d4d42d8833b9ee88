// Jobs: how a client creates, reads and changes them.

import type { ActivityAnswer, ActivityQuery, MarkList } from "../activity.ts";
import type { ExplainQuery, Explanation } from "../dispatch.ts";
import type { AttemptList, FailureList, FailuresQuery, QueueView } from "../jobs/insight.ts";
import type { JobBatch, JobEventList, JobPatchRequest, JobResource, NewJobRequest } from "../jobs/job.ts";
import type { BulkReport, BulkRequest, JobList, JobListQuery } from "../jobs/job-list.ts";
import type { LatencyAnswer, LatencyQuery } from "../latency.ts";
import { listing } from "./listing.ts";
import { reportVerbs } from "./reports.ts";
import { type CallOptions, type KeyedOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export interface GetJobOptions extends CallOptions {
  /** Seconds to hold the answer until the job is final, 0 to 25. */
  readonly wait?: number | undefined;
}

export interface DispatchOptions extends KeyedOptions {
  /** Queues the job if no worker may have it now. */
  readonly queue?: boolean | undefined;
}

export interface StreamOptions extends CallOptions {
  /** The id of the last event seen; the stream resumes after it. */
  readonly lastEventId?: string | undefined;
}

export const jobVerbs = (transport: Transport) => {
  const list = (query: QueryOf<JobListQuery> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) => transport.json<JobList>({ method: "GET", path: "/api/jobs", query: asked, options }),
      ({ jobs }) => jobs,
    );
  const command = (verb: "cancel" | "retry") => (id: string, options?: CallOptions) =>
    transport.json<JobResource>({ method: "POST", path: `${pathOf`/api/jobs/${id}`}/${verb}`, body: {}, options });
  return {
    create: (job: NewJobRequest, options?: KeyedOptions) =>
      transport.json<JobResource>({ method: "POST", path: "/api/jobs", body: job, repeats: "keyed", options }),
    /** 1 to 500 jobs, all or none. */
    createMany: (jobs: readonly NewJobRequest[], options?: KeyedOptions) =>
      transport.json<JobBatch>({ method: "POST", path: "/api/jobs/batch", body: { jobs }, repeats: "keyed", options }),
    /** Gives it to the best worker now. @throws ApiProblem `no_eligible_workers` if no worker may have it. */
    dispatch: (job: NewJobRequest, { queue, ...options }: DispatchOptions = {}) =>
      transport.json<JobResource>({
        method: "POST",
        path: "/dispatch",
        query: { queue },
        body: job,
        repeats: "keyed",
        options,
      }),
    list,
    get: (id: string, { wait, ...options }: GetJobOptions = {}) =>
      transport.json<JobResource>({ method: "GET", path: pathOf`/api/jobs/${id}`, query: { wait }, options }),
    edit: (id: string, changes: JobPatchRequest, options?: CallOptions) =>
      transport.json<JobResource>({ method: "PATCH", path: pathOf`/api/jobs/${id}`, body: changes, options }),
    cancel: command("cancel"),
    retry: command("retry"),
    /** Retries or cancels the jobs of a filter, at most 1 000 per call; repeat while `remaining` is above 0. */
    changeMany: (request: BulkRequest, options?: KeyedOptions) =>
      transport.json<BulkReport>({ method: "POST", path: "/api/jobs/bulk", body: request, repeats: "keyed", options }),
    attempts: (id: string, options?: CallOptions) =>
      transport.json<AttemptList>({ method: "GET", path: pathOf`/api/jobs/${id}/attempts`, options }),
    /** What waits, and why. */
    queue: (options?: CallOptions) => transport.json<QueueView>({ method: "GET", path: "/api/queue", options }),
    /** What failed, by error and provider. */
    failures: (query: QueryOf<FailuresQuery> = {}, options?: CallOptions) =>
      transport.json<FailureList>({ method: "GET", path: "/api/failures", query, options }),
    /** How long jobs wait and run, over a rolling period. */
    latency: (query: QueryOf<LatencyQuery> = {}, options?: CallOptions) =>
      transport.json<LatencyAnswer>({ method: "GET", path: "/api/latency", query, options }),
    /** What happened to jobs, over a rolling period in even steps. */
    activity: (query: QueryOf<ActivityQuery> = {}, options?: CallOptions) =>
      transport.json<ActivityAnswer>({ method: "GET", path: "/api/activity", query, options }),
    /** The events that explain a period: halts, pauses, changes of the config, reached budgets. */
    marks: (query: QueryOf<ActivityQuery> = {}, options?: CallOptions) =>
      transport.json<MarkList>({ method: "GET", path: "/api/marks", query, options }),
    events: (id: string, options?: CallOptions) =>
      transport.json<JobEventList>({ method: "GET", path: pathOf`/api/jobs/${id}/events`, options }),
    /** Server-sent events: the job's output while it is written. The caller reads the answer's body. */
    stream: (id: string, { lastEventId, ...options }: StreamOptions = {}) =>
      transport.response({
        method: "GET",
        path: pathOf`/api/jobs/${id}/stream`,
        headers: { accept: "text/event-stream", "last-event-id": lastEventId },
        options,
      }),
    /** Which worker would get such a job, and why; changes nothing. */
    explain: (query: QueryOf<ExplainQuery> = {}, options?: CallOptions) =>
      transport.json<Explanation>({ method: "GET", path: "/dispatch/explain", query, options }),
    ...reportVerbs(transport),
  };
};
