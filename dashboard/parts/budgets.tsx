// The tenant's and the providers' budgets: what is spent, when each is reached at the current rate, and which reached
// one keeps how many jobs waiting.

import type { BudgetState, BudgetStates, ProviderBudgetState } from "../../contract/cost.ts";
import { clock, dateTime, isSameDay, plural } from "../format.ts";
import { href } from "../router.ts";
import { now } from "../state/clock.ts";
import { waitingFor } from "../state/waiting.ts";
import { BudgetBar } from "./budget-bar.tsx";

const hasLimit = ({ day_usd, month_usd }: BudgetState): boolean => day_usd !== null || month_usd !== null;

/** Nothing if the budget will not be reached in its period. */
const Pace = ({ at: iso }: { at: string | null }) => {
  if (iso === null) return null;
  const at = Date.parse(iso);
  return (
    <p class="tone-caution">
      At this pace the budget is reached{" "}
      {isSameDay(at, now.value) ? `at ${clock(at).slice(0, 5)}` : `on ${dateTime(at)}`}.
    </p>
  );
};

const Bars = ({ budget, spentToday }: { budget: BudgetState; spentToday: number }) => (
  <>
    {budget.day_usd !== null && <BudgetBar name="Today" spent={spentToday} limit={budget.day_usd} />}
    {budget.month_usd !== null && (
      <BudgetBar name="This month" spent={budget.month_spent_usd} limit={budget.month_usd} />
    )}
  </>
);

const Blocks = ({ provider }: { provider: string }) => {
  const waiting = waitingFor(provider);
  return (
    <p class="tone-stop">
      The budget of {provider} is reached: it gets no new jobs.{" "}
      {waiting > 0 && (
        <a href={href(["jobs"], { status: "pending", provider })}>
          {plural(waiting, "job that waits asks", "jobs that wait ask")} for it.
        </a>
      )}
    </p>
  );
};

const OfProvider = ({ budget }: { budget: ProviderBudgetState }) => (
  <section class="provider-budget" aria-label={`Budget of ${budget.provider}`}>
    <h3>{budget.provider}</h3>
    <Bars budget={budget} spentToday={budget.day_spent_usd} />
    {budget.reached ? <Blocks provider={budget.provider} /> : <Pace at={budget.reached_at_pace} />}
  </section>
);

/** For the overview: the tenant's bars, and the providers that a reached budget closes. `spentToday` may be newer. */
export const BudgetGlance = ({ budgets, spentToday }: { budgets: BudgetStates; spentToday: number }) => {
  const { budget, provider_budgets } = budgets;
  return (
    <>
      <Bars budget={budget} spentToday={spentToday} />
      {budget.reached && <p class="tone-stop">A budget is reached: providers that cost money get no new jobs.</p>}
      <Pace at={budget.reached_at_pace} />
      {provider_budgets
        .filter(({ reached }) => reached)
        .map(({ provider }) => (
          <Blocks key={provider} provider={provider} />
        ))}
    </>
  );
};

export const Budgets = ({ budgets }: { budgets: BudgetStates }) => {
  const { budget, provider_budgets } = budgets;
  const all = [budget, ...provider_budgets];
  if (!all.some(hasLimit)) {
    return (
      <p class="dim">
        No budget is set. <a href="#/settings">Set one in the config</a>: <code>budget.day_usd</code>,{" "}
        <code>budget.month_usd</code>, or of one provider <code>providers.&lt;name&gt;.budget</code>.
      </p>
    );
  }
  return (
    <>
      {hasLimit(budget) ? (
        <BudgetGlance budgets={{ budget, provider_budgets: [] }} spentToday={budget.day_spent_usd} />
      ) : (
        <p class="dim">No budget for all providers together; these have their own.</p>
      )}
      {provider_budgets.map((one) => (
        <OfProvider key={one.provider} budget={one} />
      ))}
      {all.every(({ reached, reached_at_pace }) => !reached && reached_at_pace === null) && (
        <p class="dim">At this pace no budget is reached before its period ends.</p>
      )}
    </>
  );
};
