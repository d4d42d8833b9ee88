// How a worker reports on its jobs. A repeated report gets the first answer again.

import type { CompleteAndClaimAnswer } from "../fleet/worker.ts";
import type { JobResource } from "../jobs/job.ts";
import type { CompleteRequest, FailRequest, HeartbeatRequest, ReleaseRequest, StartRequest } from "../jobs/report.ts";
import { type CallOptions, pathOf, type Transport } from "./transport.ts";

export const reportVerbs = (transport: Transport) => {
  const report =
    <Body>(verb: string) =>
    (id: string, body: Body, options?: CallOptions) =>
      transport.post<JobResource>(`${pathOf`/api/jobs/${id}`}/${verb}`, body, options, "safe");
  return {
    start: report<StartRequest>("start"),
    heartbeat: report<HeartbeatRequest>("heartbeat"),
    complete: report<CompleteRequest>("complete"),
    /** Completes the job and takes up to `claim` of the worker's next leases in the same call. */
    completeAndClaim: (id: string, body: CompleteRequest, claim: number, options?: CallOptions) =>
      transport.json<CompleteAndClaimAnswer>({
        method: "POST",
        path: pathOf`/api/jobs/${id}/complete`,
        query: { claim },
        body,
        repeats: "safe",
        options,
      }),
    fail: report<FailRequest>("fail"),
    release: report<ReleaseRequest>("release"),
  };
};
