// What the tiles and plots of the overview are made of: activity, latency and marks of the chosen span.

import type { ActivityAnswer, MarkList } from "../../contract/activity.ts";
import type { LatencyAnswer } from "../../contract/latency.ts";
import { api } from "../api.ts";
import { budgetReached, counts, killswitch } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { span } from "../state/span.ts";
import { thisMinute } from "../state/throughput.ts";

const REREAD_EVERY_MS = 5000;

/** What the panel of latencies shows at first, so that it needs no read of its own; the total and series are the same by any. */
export const LATENCY_BY = "model";

export interface Figures {
  readonly activity: ActivityAnswer;
  readonly latency: LatencyAnswer;
  readonly marks: MarkList["marks"];
}

/** Read again as jobs end and as minutes pass. All three are of one span, so that no tile shows another's. */
export const useFigures = () => {
  const { completed = 0, failed = 0, cancelled = 0 } = counts.value;
  const halt = `${killswitch.value?.level} ${killswitch.value?.active} ${budgetReached.value?.period}`;
  const changed = useThrottled(`${completed + failed + cancelled} ${thisMinute.value} ${halt}`, REREAD_EVERY_MS);
  const period = span.value;
  return useLoad(`${period} ${changed}`, async (signal): Promise<Figures> => {
    const [activity, latency, { marks }] = await Promise.all([
      api.jobs.activity({ period }, { signal }),
      api.jobs.latency({ by: LATENCY_BY, period }, { signal }),
      // History may be away; the rest is live.
      api.jobs.marks({ period }, { signal }).catch(() => ({ marks: [] })),
    ]);
    return { activity, latency, marks };
  });
};

/** Values of the latency's rows in the steps of the activity; null where no attempt completed. */
export const inSteps = (
  { activity, latency }: Figures,
  figureOf: (row: LatencyAnswer["series"][number]) => number | null,
): (number | null)[] => {
  const byStep = new Map(latency.series.map((row) => [row.at, figureOf(row)]));
  return activity.series.map(({ at }) => byStep.get(at) ?? null);
};
