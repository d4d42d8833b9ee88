// Activity on the wire: what happened to jobs over a rolling period, and the events that explain it.

import * as z from "zod";
import type { Activity } from "../domain/insight/activity.ts";
import { rollingPeriods } from "../domain/insight/slots.ts";
import { usdFromNano } from "../domain/money/price.ts";
import { count, instant, toIso } from "./words/field.ts";

export const activityQuery = z.strictObject({
  period: z.enum(rollingPeriods).default("24h").meta({ description: "the time until now" }),
});

const activity = {
  created: count,
  completed: count,
  failed: count,
  cancelled: count,
  usd: z.number().meta({ description: "what attempts that ended cost, in US dollars" }),
  most_under_way: count.meta({ description: "most jobs that workers had at once" }),
  most_waiting: count.meta({ description: "most jobs that waited at once" }),
};

export const activityAnswer = z
  .object({
    period: z.enum(rollingPeriods),
    from: instant,
    to: instant,
    total: z.object(activity),
    series: z.array(z.object({ at: instant, ...activity })).meta({ description: "every step, oldest first" }),
  })
  .meta({ id: "Activity" });

const MARK_KINDS = ["halt", "clear", "pause", "resume", "config", "budget"] as const;
/** Equal events closer than this share of the period are one mark: more could not be told apart on an axis. */
export const MARK_PLACES = 60;

export const mark = z.object({
  at: instant,
  kind: z.enum(MARK_KINDS),
  count: count.meta({ description: "how many of the kind happened together" }),
  target: z
    .string()
    .nullable()
    .meta({ description: "of a single one: the level, the worker or the budget; null for the config" }),
});

export const markList = z
  .object({
    from: instant,
    to: instant,
    marks: z.array(mark).meta({ description: `oldest first; those within a ${MARK_PLACES}th of the period are one` }),
  })
  .meta({ id: "MarkList" });

export type ActivityQuery = z.input<typeof activityQuery>;
export type ActivityAnswer = z.infer<typeof activityAnswer>;
export type MarkList = z.infer<typeof markList>;
export type Mark = MarkList["marks"][number];

export const presentActivity = ({ nanoUsd, underWay, waiting, ...counts }: Activity) => ({
  ...counts,
  usd: usdFromNano(nanoUsd),
  most_under_way: underWay.peak,
  most_waiting: waiting.peak,
});

export const presentActivityAt = (at: number, activity: Activity) => ({ at: toIso(at), ...presentActivity(activity) });
