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
import { listing } from "./listing.ts";
import { type CallOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export interface ClaimOptions extends CallOptions {
  /** Seconds to wait for a job if there is none, 0 to 25. */
  readonly wait?: number | undefined;
}

export const workerVerbs = (transport: Transport) => ({
  list: (query: QueryOf<WorkerListQuery> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) => transport.json<WorkerList>({ method: "GET", path: "/api/workers", query: asked, options }),
      ({ workers }) => workers,
    ),
  /** The whole fleet, a few columns for each worker. */
  grid: (query: QueryOf<FleetGridQuery> = {}, options?: CallOptions) =>
    transport.json<FleetGrid>({ method: "GET", path: "/api/fleet", query, options }),
  /** What it did, over a rolling period in even steps. */
  activity: (instance: string, query: QueryOf<ActivityQuery> = {}, options?: CallOptions) =>
    transport.json<WorkerActivity>({
      method: "GET",
      path: `${pathOf`/api/workers/${instance}`}/activity`,
      query,
      options,
    }),
  /** Those that are not offline. */
  present: (options?: CallOptions) => transport.json<PresenceList>({ method: "GET", path: "/presence", options }),
  get: (instance: string, options?: CallOptions) =>
    transport.json<WorkerDetail>({ method: "GET", path: pathOf`/api/workers/${instance}`, options }),
  pause: (instance: string, pause: PauseRequest = {}, options?: CallOptions) =>
    transport.json<WorkerResource>({
      method: "POST",
      path: pathOf`/api/workers/${instance}/pause`,
      body: pause,
      repeats: "safe",
      options,
    }),
  resume: (instance: string, options?: CallOptions) =>
    transport.json<WorkerResource>({
      method: "POST",
      path: pathOf`/api/workers/${instance}/resume`,
      body: {},
      repeats: "safe",
      options,
    }),
  /** Outside its hours it gets no new jobs; null removes them. */
  setHours: (instance: string, hours: HoursRequest, options?: CallOptions) =>
    transport.json<WorkerResource>({
      method: "PUT",
      path: pathOf`/api/workers/${instance}/hours`,
      body: hours,
      repeats: "safe",
      options,
    }),
  /** Only an offline worker can be deleted. */
  forget: (instance: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/api/workers/${instance}`, options }),
  report: (presence: PresenceRequest, options?: CallOptions) =>
    transport.json<PresenceAnswer>({ method: "POST", path: "/presence", body: presence, repeats: "safe", options }),
  claim: (instance: string, claim: ClaimRequest = {}, { wait, ...options }: ClaimOptions = {}) =>
    transport.json<ClaimAnswer>({
      method: "POST",
      path: pathOf`/api/workers/${instance}/claim`,
      query: { wait },
      body: claim,
      options,
    }),
});
