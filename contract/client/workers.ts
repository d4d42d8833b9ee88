// Workers: their own calls, and those of operators.

import type { ActivityQuery } from "../activity.ts";
import type { FleetGrid, FleetGridQuery } from "../fleet/fleet-grid.ts";
import type {
  ClaimAnswer,
  ClaimRequest,
  HoursRequest,
  PauseRequest,
  PresenceAnswer,
  PresenceList,
  PresenceRequest,
  WorkerDetail,
  WorkerList,
  WorkerListQuery,
  WorkerResource,
} from "../fleet/worker.ts";
import type { WorkerActivity } from "../fleet/worker-activity.ts";
import { listAt } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export interface ClaimOptions extends CallOptions {
  /** Seconds to wait for a job if there is none, 0 to 25. */
  readonly wait?: number | undefined;
}

export const workerVerbs = (transport: Transport) => ({
  list: (query: QueryOf<WorkerListQuery> = {}, options?: CallOptions) =>
    listAt(transport, "/api/workers", query, ({ workers }: WorkerList) => workers, options),
  /** The whole fleet, a few columns for each worker. */
  grid: (query: QueryOf<FleetGridQuery> = {}, options?: CallOptions) =>
    transport.get<FleetGrid>("/api/fleet", options, query),
  /** What it did, over a rolling period in even steps. */
  activity: (instance: string, query: QueryOf<ActivityQuery> = {}, options?: CallOptions) =>
    transport.get<WorkerActivity>(`${pathOf`/api/workers/${instance}`}/activity`, options, query),
  /** Those that are not offline. */
  present: (options?: CallOptions) => transport.get<PresenceList>("/presence", options),
  get: (instance: string, options?: CallOptions) =>
    transport.get<WorkerDetail>(pathOf`/api/workers/${instance}`, options),
  pause: (instance: string, pause: PauseRequest = {}, options?: CallOptions) =>
    transport.post<WorkerResource>(pathOf`/api/workers/${instance}/pause`, pause, options, "safe"),
  resume: (instance: string, options?: CallOptions) =>
    transport.post<WorkerResource>(pathOf`/api/workers/${instance}/resume`, {}, options, "safe"),
  /** Outside its hours it gets no new jobs; null removes them. */
  setHours: (instance: string, hours: HoursRequest, options?: CallOptions) =>
    transport.put<WorkerResource>(pathOf`/api/workers/${instance}/hours`, hours, options),
  /** Only an offline worker can be deleted. */
  forget: (instance: string, options?: CallOptions) => transport.remove(pathOf`/api/workers/${instance}`, options),
  report: (presence: PresenceRequest, options?: CallOptions) =>
    transport.post<PresenceAnswer>("/presence", presence, options, "safe"),
  claim: (instance: string, claim: ClaimRequest = {}, { wait, ...options }: ClaimOptions = {}) =>
    transport.json<ClaimAnswer>({
      method: "POST",
      path: pathOf`/api/workers/${instance}/claim`,
      query: { wait },
      body: claim,
      options,
    }),
});
