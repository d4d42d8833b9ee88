// Today's cost, beside yesterday's and within its budget.

import { api } from "../api.ts";
import { plural, usd } from "../format.ts";
import { BudgetGlance } from "../parts/budgets.tsx";
import { Problem } from "../parts/problem.tsx";
import { todayUsd } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";

const REREAD_EVERY_MS = 10_000;

export const CostToday = () => {
  const spent = useThrottled(todayUsd.value, REREAD_EVERY_MS);
  const { data, error, reload } = useLoad(`cost ${spent}`, (signal) => api.cost.summary({ period: "day" }, { signal }));
  if (error !== null) return <Problem error={error} retry={reload} />;
  const total = todayUsd.value ?? data?.total_usd ?? null;
  return (
    <>
      <p class="figure num">{total === null ? "…" : usd(total)}</p>
      {data !== null && (
        <>
          <p class="figure-note">
            {plural(data.jobs, "job")}; yesterday {usd(data.previous_total_usd)}
            {data.unpriced_jobs > 0 && (
              <span class="tone-caution"> · {plural(data.unpriced_jobs, "job")} of unknown price, not in the sum</span>
            )}
          </p>
          <BudgetGlance budgets={data} spentToday={total ?? 0} />
        </>
      )}
    </>
  );
};
