// Schedules: recurring jobs.

import type {
  NewScheduleRequest,
  PatchScheduleRequest,
  ScheduleHistory,
  ScheduleList,
  ScheduleListQuery,
  SchedulePreview,
  ScheduleResource,
  ScheduleRunResource,
} from "../schedule.ts";
import { listAt, type PageQuery } from "./listing.ts";
import { type CallOptions, type KeyedOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export interface PreviewOptions extends CallOptions {
  /** How many of the next runs to include. */
  readonly preview?: number | undefined;
}

export const scheduleVerbs = (transport: Transport) => ({
  create: (schedule: NewScheduleRequest, options?: CallOptions) =>
    transport.post<ScheduleResource>("/api/schedules", schedule, options),
  list: (query: QueryOf<ScheduleListQuery> = {}, options?: CallOptions) =>
    listAt(transport, "/api/schedules", query, ({ schedules }: ScheduleList) => schedules, options),
  get: (name: string, { preview, ...options }: PreviewOptions = {}) =>
    transport.get<ScheduleResource>(pathOf`/api/schedules/${name}`, options, { preview }),
  edit: (name: string, changes: PatchScheduleRequest, options?: CallOptions) =>
    transport.put<ScheduleResource>(pathOf`/api/schedules/${name}`, changes, options),
  remove: (name: string, options?: CallOptions) => transport.remove(pathOf`/api/schedules/${name}`, options),
  run: (name: string, options?: KeyedOptions) =>
    transport.post<ScheduleRunResource>(pathOf`/api/schedules/${name}/run`, {}, options, "keyed"),
  history: (name: string, query: QueryOf<PageQuery> = {}, options?: CallOptions) =>
    listAt(
      transport,
      pathOf`/api/schedules/${name}/history`,
      query,
      ({ history }: ScheduleHistory) => history,
      options,
    ),
  /** When a schedule would run, without creating it. */
  preview: (schedule: NewScheduleRequest, { preview, ...options }: PreviewOptions = {}) =>
    transport.json<SchedulePreview>({
      method: "POST",
      path: "/api/schedules/preview",
      query: { preview },
      body: schedule,
      repeats: "safe",
      options,
    }),
});
