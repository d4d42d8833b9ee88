// Jobs: how a client creates, reads and changes them.

import type { ActivityAnswer, ActivityQuery, MarkList } from "../activity.ts";
import type { ExplainQuery, Explanation } from "../dispatch.ts";
import type { AttemptList, FailureList, FailuresQuery, QueueView } from "../jobs/insight.ts";
import type { JobBatch, JobEventList, JobPatchRequest, JobResource, NewJobRequest } from "../jobs/job.ts";
import type { BulkReport, BulkRequest, JobList, JobListQuery } from "../jobs/job-list.ts";
import type { LatencyAnswer, LatencyQuery } from "../latency.ts";
import { listAt } from "./listing.ts";
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
    listAt(transport, "/api/jobs", query, ({ jobs }: JobList) => jobs, options);
  const command = (verb: "cancel" | "retry") => (id: string, options?: CallOptions) =>
    transport.post<JobResource>(`${pathOf`/api/jobs/${id}`}/${verb}`, {}, options);
  return {
    create: (job: NewJobRequest, options?: KeyedOptions) =>
      transport.post<JobResource>("/api/jobs", job, options, "keyed"),
    /** 1 to 500 jobs, all or none. */
    createMany: (jobs: readonly NewJobRequest[], options?: KeyedOptions) =>
      transport.post<JobBatch>("/api/jobs/batch", { jobs }, options, "keyed"),
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
      transport.get<JobResource>(pathOf`/api/jobs/${id}`, options, { wait }),
    edit: (id: string, changes: JobPatchRequest, options?: CallOptions) =>
      transport.patch<JobResource>(pathOf`/api/jobs/${id}`, changes, options),
    cancel: command("cancel"),
    retry: command("retry"),
    /** Retries or cancels the jobs of a filter, at most 1 000 per call; repeat while `remaining` is above 0. */
    changeMany: (request: BulkRequest, options?: KeyedOptions) =>
      transport.post<BulkReport>("/api/jobs/bulk", request, options, "keyed"),
    attempts: (id: string, options?: CallOptions) =>
      transport.get<AttemptList>(pathOf`/api/jobs/${id}/attempts`, options),
    /** What waits, and why. */
    queue: (options?: CallOptions) => transport.get<QueueView>("/api/queue", options),
    /** What failed, by error and provider. */
    failures: (query: QueryOf<FailuresQuery> = {}, options?: CallOptions) =>
      transport.get<FailureList>("/api/failures", options, query),
    /** How long jobs wait and run, over a rolling period. */
    latency: (query: QueryOf<LatencyQuery> = {}, options?: CallOptions) =>
      transport.get<LatencyAnswer>("/api/latency", options, query),
    /** What happened to jobs, over a rolling period in even steps. */
    activity: (query: QueryOf<ActivityQuery> = {}, options?: CallOptions) =>
      transport.get<ActivityAnswer>("/api/activity", options, query),
    /** The events that explain a period: halts, pauses, changes of the config, reached budgets. */
    marks: (query: QueryOf<ActivityQuery> = {}, options?: CallOptions) =>
      transport.get<MarkList>("/api/marks", options, query),
    events: (id: string, options?: CallOptions) => transport.get<JobEventList>(pathOf`/api/jobs/${id}/events`, options),
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
      transport.get<Explanation>("/dispatch/explain", options, query),
    ...reportVerbs(transport),
  };
};
