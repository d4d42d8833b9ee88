// The cost of work: over any span with the one before, by provider, model, tag, key, worker or schedule, and the
// budgets. Work of unknown price is shown as such.

import type { CostByGroup, CostByProvider, CostQuery, CostSummary } from "../../contract/cost.ts";
import { api } from "../api.ts";
import { count, plural, usd } from "../format.ts";
import { Budgets } from "../parts/charts/budgets.tsx";
import { Choice, SelectField } from "../parts/form.tsx";
import { Empty, Loading, Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { href, place, refine } from "../router.ts";
import { todayUsd } from "../state/board.ts";
import { serverNow } from "../state/clock.ts";
import { type NameOf, readKeyNames } from "../state/key-names.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { CostGroups, unpricedIn } from "./cost-groups.tsx";
import { CostOverTime } from "./cost-over-time.tsx";
import { CostProviders } from "./cost-providers.tsx";
import { costQueryOf, dayText, RANGE_NAMES, RANGES, type Range } from "./cost-range.ts";

const REREAD_EVERY_MS = 5000;
const BY = ["provider", "model", "tag", "key", "worker", "schedule"] as const;
type By = (typeof BY)[number];
const BEFORE: Record<Range, string> = {
  day: "yesterday",
  yesterday: "the day before",
  week: "last week",
  "last-week": "the week before",
  month: "last month",
  "last-month": "the month before",
  days: "as long before",
};

const change = (now: number, before: number): string => {
  if (before === 0) return usd(0);
  const percent = Math.round(((now - before) / before) * 100);
  return `${usd(before)} (${percent > 0 ? "+" : ""}${percent} %)`;
};

/** Names the span that its figures are of, also while another is read. */
const Total = ({ summary, range }: { summary: CostSummary; range: Range }) => (
  <Panel title={RANGE_NAMES[range]}>
    <p class="figure num">{usd(summary.total_usd)}</p>
    <p class="figure-note">
      {plural(summary.jobs, "job")}; {BEFORE[range]} {change(summary.total_usd, summary.previous_total_usd)}
    </p>
    <p class="figure-note">
      {count(summary.usage.input_tokens)} tokens in, {count(summary.usage.output_tokens)} out
    </p>
    {summary.unpriced_jobs > 0 && (
      <p>
        <a class="tone-caution" href={href(["jobs"], unpricedIn(summary))}>
          {plural(summary.unpriced_jobs, "job")} of unknown price
        </a>
        : not in the sum.
      </p>
    )}
  </Panel>
);

const Days = ({ days }: { days: { from: string; to: string } }) => (
  <div class="field-row days">
    {(["from", "to"] as const).map((name) => (
      <label key={name} class="day">
        {name === "from" ? "From" : "To, inclusive"}
        <input type="date" value={days[name]} onChange={(event) => refine({ [name]: event.currentTarget.value })} />
      </label>
    ))}
  </div>
);

interface Groups {
  readonly groups: CostByGroup;
  /** By provider, with the models of each. */
  readonly providers: CostByProvider | null;
  readonly nameOf: NameOf;
}

/** Other values than keys are names themselves. */
const asIs: NameOf = (value) => value;

const readGroups = async (by: By, query: Partial<CostQuery>, signal: AbortSignal): Promise<Groups> => {
  const [groups, providers, nameOf] = await Promise.all([
    api.cost.by(by, query, { signal }),
    by === "provider" ? api.cost.byProvider(query, { signal }) : null,
    by === "key" ? readKeyNames(signal) : asIs,
  ]);
  return { groups, providers, nameOf };
};

const Grouped = ({ groups, providers, nameOf }: Groups) => {
  if (groups.rows.length === 0)
    return <Empty title="Nothing was spent in this span.">Costs appear here when jobs end.</Empty>;
  return providers === null ? <CostGroups groups={groups} nameOf={nameOf} /> : <CostProviders costs={providers} />;
};

export const Cost = () => {
  const { query: address } = place.value;
  const range: Range = RANGES.find((one) => one === (address.get("range") ?? address.get("period"))) ?? "day";
  const by: By = BY.find((one) => one === address.get("by")) ?? "provider";
  const today = dayText(serverNow());
  const days = { from: address.get("from") ?? today, to: address.get("to") ?? today };
  const spent = useThrottled(todayUsd.value, REREAD_EVERY_MS);
  const query = costQueryOf(range, days, serverNow());
  const version = `${range} ${days.from} ${days.to} ${spent}`;
  const { data, error, reload } = useLoad(query === null ? null : version, async (signal) => ({
    summary: await api.cost.summary(query ?? {}, { signal }),
    range,
  }));
  const grouped = useLoad(query === null ? null : `${by} ${version}`, (signal) => readGroups(by, query ?? {}, signal));
  return (
    <Page
      title="Cost"
      lead="Days in UTC. Every attempt counts that cost something, at the time it ended."
      actions={
        <SelectField
          label="Span"
          value={range}
          options={RANGES.map((one) => [one, RANGE_NAMES[one]] as const)}
          onInput={(next) => refine({ range: next, period: null })}
        />
      }
    >
      {range === "days" && <Days days={days} />}
      {query === null && <p class="tone-caution">The first day must not be after the last, and not in the future.</p>}
      <Problem error={error} retry={reload} />
      {data === null && error === null && query !== null && <Loading what="the costs" />}
      {data !== null && query !== null && (
        <>
          <div class="grid cost-grid">
            <Total {...data} />
            <CostOverTime
              summary={data.summary}
              groups={grouped.data?.groups ?? null}
              nameOf={grouped.data?.nameOf ?? asIs}
            />
          </div>
          <Panel title="Budget">
            <Budgets budgets={data.summary} />
          </Panel>
          <Panel title={by === "provider" ? "By provider and model" : `By ${by}`}>
            <Choice
              label="By"
              value={by}
              options={BY.map((one) => [one, one] as const)}
              onInput={(next) => refine({ by: next })}
            />
            <Problem error={grouped.error} retry={grouped.reload} />
            {grouped.data === null && grouped.error === null && <Loading what="the costs" />}
            {grouped.data !== null && <Grouped {...grouped.data} />}
          </Panel>
        </>
      )}
    </Page>
  );
};
