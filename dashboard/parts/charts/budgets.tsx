// The tenant's and the providers' budgets: what is spent, when each is reached at the current rate, and which reached
// one keeps how many jobs waiting.

import type { BudgetState, BudgetStates, ProviderBudgetState } from "../../../contract/cost.ts";
import { clock, dateTime, isSameDay, plural } from "../../format.ts";
import { href } from "../../router.ts";
import { now } from "../../state/clock.ts";
import { waitingFor } from "../../state/waiting.ts";
import { BudgetBar } from "./budget-bar.tsx";

const hasLimit = ({ day_usd, month_usd }: BudgetState): boolean => day_usd !== null || month_usd !== null;

/** Nothing if the budget will not be reached in its period. */
const Pace = ({ at: iso, isShort = false }: { at: string | null; isShort?: boolean }) => {
  if (iso === null) return null;
  const at = Date.parse(iso);
  const when = isSameDay(at, now.value) ? `at ${clock(at).slice(0, 5)}` : `on ${dateTime(at)}`;
  return (
    <p class="tone-caution">{isShort ? `A budget ends ${when}` : `At this pace the budget is reached ${when}.`}</p>
  );
};

const Reached = () => <p class="tone-stop">A budget is reached: providers that cost money get no new jobs.</p>;

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

interface Limit {
  readonly name: string;
  readonly spent: number;
  readonly limit: number;
}

/** A provider's name stands as it is written in the config. */
const limitsOf = (provider: string | null, budget: BudgetState, spentToday: number): Limit[] =>
  [
    { name: provider === null ? "Today" : `${provider} today`, spent: spentToday, limit: budget.day_usd },
    {
      name: provider === null ? "This month" : `${provider} this month`,
      spent: budget.month_spent_usd,
      limit: budget.month_usd,
    },
  ].filter((one): one is Limit => one.limit !== null);

const shareOf = ({ spent, limit }: Limit): number => (limit === 0 ? Number.POSITIVE_INFINITY : spent / limit);

/** For the overview: the budget that is nearest to its end, the tenant's or a provider's. `spentToday` may be newer than the rest. */
export const BudgetGlance = ({ budgets, spentToday }: { budgets: BudgetStates; spentToday: number }) => {
  const { budget, provider_budgets } = budgets;
  const limits = [
    ...limitsOf(null, budget, spentToday),
    ...provider_budgets.flatMap((one) => limitsOf(one.provider, one, one.day_spent_usd)),
  ];
  const [nearest] = limits.sort((one, other) => shareOf(other) - shareOf(one));
  if (nearest === undefined) return null;
  const closed = provider_budgets.filter(({ reached }) => reached);
  const paces = [budget, ...provider_budgets].flatMap(({ reached_at_pace: at }) => (at === null ? [] : [at]));
  return (
    <>
      <BudgetBar {...nearest} />
      {budget.reached && <Reached />}
      {closed.map(({ provider }) => (
        <Blocks key={provider} provider={provider} />
      ))}
      {!budget.reached && closed.length === 0 && <Pace at={paces.sort()[0] ?? null} isShort />}
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
        <>
          <Bars budget={budget} spentToday={budget.day_spent_usd} />
          {budget.reached && <Reached />}
          <Pace at={budget.reached_at_pace} />
        </>
      ) : (
        <p class="dim">No budget for all providers together; these have their own.</p>
      )}
      <div class="provider-budgets">
        {provider_budgets.map((one) => (
          <OfProvider key={one.provider} budget={one} />
        ))}
      </div>
      {all.every(({ reached, reached_at_pace }) => !reached && reached_at_pace === null) && (
        <p class="dim">At this pace no budget is reached before its period ends.</p>
      )}
    </>
  );
};
