// What happened to jobs over a rolling period, for the operator.

import { type ActivityAnswer, presentActivity, presentActivityAt } from "../../../contract/activity.ts";
import { toIso } from "../../../contract/words/field.ts";
import { type Activity, appendActivity, quietAfter } from "../../../domain/insight/activity.ts";
import { ROLLING_PERIODS, type RollingPeriod, stepsOf } from "../../../domain/insight/slots.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import type { Turn } from "../../turn/turn.ts";

export const readActivity = (turn: Turn, { period }: { period: RollingPeriod }): Result<ActivityAnswer, Refusal> => {
  const { slots, stepMs } = ROLLING_PERIODS[period];
  const steps = stepsOf(period, turn.nowAt);
  const fromAt = steps[0] ?? turn.nowAt;
  const found = turn.memory.counters.activitySlots.since(turn.store.activity, slots, fromAt);
  const next = found.values();
  let slot = next.next();
  let before: Activity | null = null;
  for (; !slot.done && slot.value.at < fromAt; slot = next.next()) before = slot.value.activity;
  const series = steps.map((at) => {
    const activity = quietAfter(before);
    for (; !slot.done && slot.value.at < at + stepMs; slot = next.next()) appendActivity(activity, slot.value.activity);
    before = activity;
    return { at, activity };
  });
  const total = quietAfter(null);
  for (const { activity } of series) appendActivity(total, activity);
  return ok({
    period,
    from: toIso(fromAt),
    to: toIso(turn.nowAt),
    total: presentActivity(total),
    series: series.map(({ at, activity }) => presentActivityAt(at, activity)),
  });
};
