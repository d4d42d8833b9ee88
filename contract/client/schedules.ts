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
import { listing, type PageQuery } from "./listing.ts";
import { type CallOptions, type KeyedOptions, pathOf, type QueryOf, type Transport } from "./transport.ts";

export interface PreviewOptions extends CallOptions {
  /** How many of the next runs to include. */
  readonly preview?: number | undefined;
}

export const scheduleVerbs = (transport: Transport) => ({
  create: (schedule: NewScheduleRequest, options?: CallOptions) =>
    transport.json<ScheduleResource>({ method: "POST", path: "/api/schedules", body: schedule, options }),
  list: (query: QueryOf<ScheduleListQuery> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) => transport.json<ScheduleList>({ method: "GET", path: "/api/schedules", query: asked, options }),
      ({ schedules }) => schedules,
    ),
  get: (name: string, { preview, ...options }: PreviewOptions = {}) =>
    transport.json<ScheduleResource>({
      method: "GET",
      path: pathOf`/api/schedules/${name}`,
      query: { preview },
      options,
    }),
  edit: (name: string, changes: PatchScheduleRequest, options?: CallOptions) =>
    transport.json<ScheduleResource>({ method: "PUT", path: pathOf`/api/schedules/${name}`, body: changes, options }),
  remove: (name: string, options?: CallOptions) =>
    transport.nothing({ method: "DELETE", path: pathOf`/api/schedules/${name}`, options }),
  run: (name: string, options?: KeyedOptions) =>
    transport.json<ScheduleRunResource>({
      method: "POST",
      path: pathOf`/api/schedules/${name}/run`,
      body: {},
      repeats: "keyed",
      options,
    }),
  history: (name: string, query: QueryOf<PageQuery> = {}, options?: CallOptions) =>
    listing(
      query,
      (asked) =>
        transport.json<ScheduleHistory>({
          method: "GET",
          path: pathOf`/api/schedules/${name}/history`,
          query: asked,
          options,
        }),
      ({ history }) => history,
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
