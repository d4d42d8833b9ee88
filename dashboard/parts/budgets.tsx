// The budgets: what is spent, and when each is reached at the current rate.

import type { BudgetState } from "../../contract/cost.ts";
import { clock, dateTime, isSameDay } from "../format.ts";
import { now } from "../state/clock.ts";
import { BudgetBar } from "./budget-bar.tsx";

/** Nothing if no budget will be reached in its period. */
const Pace = ({ budget: { reached, reached_at_pace } }: { budget: BudgetState }) => {
  if (reached) return <p class="tone-stop">A budget is reached: providers that cost money get no new jobs.</p>;
  if (reached_at_pace === null) return null;
  const at = Date.parse(reached_at_pace);
  return (
    <p class="tone-caution">
      At this pace the budget is reached{" "}
      {isSameDay(at, now.value) ? `at ${clock(at).slice(0, 5)}` : `on ${dateTime(at)}`}.
    </p>
  );
};

/** `spentToday` may be newer than the budget's own number. */
export const BudgetBars = ({ budget, spentToday }: { budget: BudgetState; spentToday: number }) => (
  <>
    {budget.day_usd !== null && <BudgetBar name="Today" spent={spentToday} limit={budget.day_usd} />}
    {budget.month_usd !== null && (
      <BudgetBar name="This month" spent={budget.month_spent_usd} limit={budget.month_usd} />
    )}
    <Pace budget={budget} />
  </>
);

export const Budgets = ({ budget }: { budget: BudgetState }) =>
  budget.day_usd === null && budget.month_usd === null ? (
    <p class="dim">
      No budget is set. <a href="#/settings">Set one in the config</a>: <code>budget.day_usd</code>,{" "}
      <code>budget.month_usd</code>.
    </p>
  ) : (
    <>
      <BudgetBars budget={budget} spentToday={budget.day_spent_usd} />
      {!budget.reached && budget.reached_at_pace === null && (
        <p class="dim">At this pace no budget is reached before its period ends.</p>
      )}
    </>
  );
