// When a schedule runs, in one line.

import type { ScheduleResource } from "../../contract/schedule.ts";

export const timingOf = ({
  cron,
  interval,
  timezone,
}: Pick<ScheduleResource, "cron" | "interval" | "timezone">): string =>
  cron === null ? `every ${interval}` : `${cron} ${timezone}`;
