// Today's cost, beside yesterday's and within its budget.

import type { BudgetState } from "../../contract/cost.ts";
import { api } from "../api.ts";
import { plural, usd } from "../format.ts";
import { todayUsd } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { BudgetBar } from "./budget-bar.tsx";
import { Problem } from "./problem.tsx";
import { Time } from "./time.tsx";

const REREAD_EVERY_MS = 10_000;

const Budget = ({ budget, spentToday }: { budget: BudgetState; spentToday: number }) => (
  <>
    {budget.day_usd !== null && <BudgetBar name="Today" spent={spentToday} limit={budget.day_usd} />}
    {budget.month_usd !== null && (
      <BudgetBar name="This month" spent={budget.month_spent_usd} limit={budget.month_usd} />
    )}
    {budget.reached && <p class="tone-stop">The budget is reached.</p>}
    {!budget.reached && budget.reached_at_pace !== null && (
      <p class="tone-caution">
        At this rate it is reached <Time at={budget.reached_at_pace} as="full" />
      </p>
    )}
  </>
);

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
          <Budget budget={data.budget} spentToday={total ?? 0} />
        </>
      )}
    </>
  );
};
