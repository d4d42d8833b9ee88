// The cost of work: over any span with the one before, by provider, model, tag, key, worker or schedule, and the
// budgets. Work of unknown price is shown as such.

import { api } from "../api.ts";
import { Budgets } from "../parts/charts/budgets.tsx";
import { SelectField } from "../parts/form.tsx";
import { Loading, Page, Panel } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";
import { place, refine } from "../router.ts";
import { todayUsd } from "../state/board.ts";
import { serverNow } from "../state/clock.ts";
import { useLoad, useThrottled } from "../state/load.ts";
import { asIs, byOf, CostBy, readGroups } from "./cost-by.tsx";
import { CostOverTime } from "./cost-over-time.tsx";
import { costQueryOf, type Days, dayText, RANGE_NAMES, RANGES, type Range } from "./cost-range.ts";
import { CostTotal } from "./cost-total.tsx";

const REREAD_EVERY_MS = 5000;

const DayFields = ({ days }: { days: Days }) => (
  <div class="field-row days">
    {(["from", "to"] as const).map((name) => (
      <label key={name} class="day">
        {name === "from" ? "From" : "To, inclusive"}
        <input type="date" value={days[name]} onChange={(event) => refine({ [name]: event.currentTarget.value })} />
      </label>
    ))}
  </div>
);

const RangeField = ({ range }: { range: Range }) => (
  <SelectField
    label="Span"
    value={range}
    options={RANGE_NAMES.map((one) => [one, RANGES[one].name] as const)}
    onInput={(next) => refine({ range: next, period: null })}
  />
);

export const Cost = () => {
  const { query: address } = place.value;
  const range = RANGE_NAMES.find((one) => one === (address.get("range") ?? address.get("period"))) ?? "day";
  const by = byOf(address.get("by"));
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
  const { groups = null, nameOf = asIs } = grouped.data ?? {};
  return (
    <Page
      title="Cost"
      lead="Days in UTC. Every attempt counts that cost something, at the time it ended."
      actions={<RangeField range={range} />}
    >
      {range === "days" && <DayFields days={days} />}
      {query === null && <p class="tone-caution">The first day must not be after the last, and not in the future.</p>}
      <Problem error={error} retry={reload} />
      {data === null && error === null && query !== null && <Loading what="the costs" />}
      {data !== null && query !== null && (
        <>
          <div class="grid">
            <CostTotal {...data} />
            <CostOverTime summary={data.summary} groups={groups} nameOf={nameOf} />
          </div>
          <Panel title="Budget">
            <Budgets budgets={data.summary} />
          </Panel>
          <CostBy by={by} grouped={grouped} />
        </>
      )}
    </Page>
  );
};
