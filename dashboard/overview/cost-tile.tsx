// What the span cost, and what is spent of the budget.

import type { ActivityAnswer } from "../../contract/activity.ts";
import type { CostSummary } from "../../contract/cost.ts";
import { api } from "../api.ts";
import { plural, usd } from "../format.ts";
import { BudgetGlance } from "../parts/charts/budgets.tsx";
import { Tile } from "../parts/charts/tile.tsx";
import { Problem } from "../parts/problem.tsx";
import { todayUsd } from "../state/board.ts";
import { type Loaded, useLoad, useThrottled } from "../state/load.ts";
import { lastOf } from "../state/span.ts";

const REREAD_EVERY_MS = 10_000;

/** Read beside the other figures, not after them. */
export const useBudgets = (): Loaded<CostSummary> => {
  const spent = useThrottled(todayUsd.value, REREAD_EVERY_MS);
  return useLoad(`cost ${spent}`, (signal) => api.cost.summary({ period: "day" }, { signal }));
};

interface CostTileProps {
  readonly activity: ActivityAnswer;
  readonly budgets: Loaded<CostSummary>;
}

export const CostTile = ({ activity: { total, series, period }, budgets: { data, error, reload } }: CostTileProps) => {
  const today = todayUsd.value ?? data?.total_usd ?? 0;
  return (
    <Tile
      title="Cost and budget"
      figure={usd(total.usd)}
      href="#/cost"
      note={
        <>
          in the {lastOf(period)}
          {data !== null && data.unpriced_jobs > 0 && (
            <span class="tone-caution"> · {plural(data.unpriced_jobs, "job")} of unknown price today</span>
          )}
        </>
      }
      spark={{
        name: `Cost over the ${lastOf(period)}`,
        values: series.map((step) => step.usd),
        colour: "--part-cost",
      }}
    >
      <Problem error={error} retry={reload} />
      {data !== null && <BudgetGlance budgets={data} spentToday={today} />}
    </Tile>
  );
};
