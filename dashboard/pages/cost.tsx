// What work costs: by period, provider and model, against the budgets. Work of unknown price is shown as such.

import type { CostSummary } from "../../contract/cost.ts";
import { PERIODS, type Period } from "../../contract/values.ts";
import { api } from "../api.ts";
import { count, plural, usd } from "../format.ts";
import { CostProviders } from "../parts/cost-providers.tsx";
import { Choice } from "../parts/form.tsx";
import { Empty, Loading, Page, Panel } from "../parts/page.tsx";
import { type Line, Plot } from "../parts/plot.tsx";
import { Problem } from "../parts/problem.tsx";
import { place, refine } from "../router.ts";
import { todayUsd } from "../state/board.ts";
import { useLoad, useThrottled } from "../state/load.ts";

const NAMES: Record<Period, string> = { day: "Today", week: "This week", month: "This month" };
const BEFORE: Record<Period, string> = { day: "yesterday", week: "last week", month: "last month" };
const REREAD_EVERY_MS = 5000;

const Budget = ({ name, spent, limit }: { name: string; spent: number; limit: number }) => {
  const share = limit === 0 ? 1 : spent / limit;
  const tone = share >= 1 ? "stop" : share >= 0.8 ? "caution" : "clear";
  return (
    <div class="budget">
      <span>
        {name}: <strong class="num">{usd(spent)}</strong> of {usd(limit)}
      </span>
      <meter
        class={`meter meter-${tone}`}
        min={0}
        max={1}
        value={Math.min(1, share)}
        aria-label={`${name}: ${Math.round(share * 100)} percent spent`}
      />
    </div>
  );
};

const Budgets = ({ spentToday }: { spentToday: number | null }) => {
  const { data } = useLoad("budgets", async (signal) => {
    const [config, month] = await Promise.all([
      api.config.get({ signal }),
      api.cost.summary({ period: "month" }, { signal }),
    ]);
    return { budget: config.document.budget, monthUsd: month.total_usd };
  });
  if (data === null) return null;
  const { budget, monthUsd } = data;
  if (budget.day_usd === null && budget.month_usd === null) {
    return (
      <p class="dim">
        No budget is set. <a href="#/settings">Set one in the config</a>: <code>budget.day_usd</code>,{" "}
        <code>budget.month_usd</code>.
      </p>
    );
  }
  return (
    <>
      {budget.day_usd !== null && spentToday !== null && (
        <Budget name="Today" spent={spentToday} limit={budget.day_usd} />
      )}
      {budget.month_usd !== null && <Budget name="This month" spent={monthUsd} limit={budget.month_usd} />}
      <p class="dim">
        Once reached: {budget.on_reached === "killswitch" ? "the killswitch is engaged" : "new jobs are refused"}.
      </p>
    </>
  );
};

const Summary = ({ summary, period }: { summary: CostSummary; period: Period }) => {
  const lines: Line[] = [
    { label: "cost", values: summary.series.map(({ usd: spent }) => spent), colour: "--accent", kind: "bars" },
  ];
  const at = summary.series.map(({ at: instant }) => Date.parse(instant) / 1000);
  const { usage } = summary;
  return (
    <div class="grid cost-grid">
      <Panel title={NAMES[period]}>
        <p class="figure num">{usd(summary.total_usd)}</p>
        <p class="figure-note">
          {plural(summary.jobs, "job")}; {BEFORE[period]} {usd(summary.previous_total_usd)}
        </p>
        <p class="figure-note">
          {count(usage.input_tokens)} tokens in, {count(usage.output_tokens)} out
        </p>
        {summary.unpriced_jobs > 0 && (
          <p class="tone-caution">{plural(summary.unpriced_jobs, "job")} of unknown price: not in the sum.</p>
        )}
      </Panel>
      <Panel title={period === "day" ? "By hour" : "By day"} aside={<span class="dim">UTC</span>} class="span-2">
        <Plot name={`Cost over time, ${usd(summary.total_usd)} in all`} at={at} lines={lines} unit={usd} isUtc />
      </Panel>
    </div>
  );
};

export const Cost = () => {
  const asked = place.value.query.get("period") as Period | null;
  const period = asked !== null && PERIODS.includes(asked) ? asked : "day";
  const spent = useThrottled(todayUsd.value, REREAD_EVERY_MS);
  const { data, error, reload } = useLoad(`${period} ${spent}`, async (signal) => {
    const [summary, byProvider, today] = await Promise.all([
      api.cost.summary({ period }, { signal }),
      api.cost.byProvider({ period }, { signal }),
      api.cost.summary({ period: "day" }, { signal }),
    ]);
    return { summary, byProvider, today: today.total_usd };
  });
  return (
    <Page
      title="Cost"
      lead="Calendar periods in UTC. Every attempt that spent something counts, at the time it ended."
      actions={
        <Choice
          label="Period"
          value={period}
          options={PERIODS.map((one) => [one, NAMES[one]] as const)}
          onInput={(next) => refine({ period: next })}
        />
      }
    >
      <Problem error={error} retry={reload} />
      {data === null && error === null && <Loading what="the costs" />}
      {data !== null && (
        <>
          <Summary summary={data.summary} period={period} />
          <Panel title="Budget">
            <Budgets spentToday={todayUsd.value ?? data.today} />
          </Panel>
          <Panel title="By provider and model">
            {data.byProvider.providers.length === 0 ? (
              <Empty title="Nothing was spent in this period.">Costs appear here as jobs end.</Empty>
            ) : (
              <CostProviders providers={data.byProvider.providers} totalUsd={data.byProvider.total_usd} />
            )}
          </Panel>
        </>
      )}
    </Page>
  );
};
