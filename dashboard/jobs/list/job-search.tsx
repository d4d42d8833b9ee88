// Finding jobs: the search line, statuses with counts, a time range, the order, and saved views.

import { SelectField } from "../../parts/form.tsx";
import { place, refine } from "../../router.ts";
import { type Filter, FROM_THE_START, filterIn, isOfArchive } from "../../state/job-filter.ts";
import { isRange, RANGES, spanInWords } from "../../state/time-range.ts";
import { JobViews } from "./job-views.tsx";
import { SearchLine } from "./search-line.tsx";
import { StateChips } from "./state-chips.tsx";

const CUSTOM = "custom";

const RangeField = ({ filter, range }: { filter: Filter; range: string | null }) => {
  const { since, until } = filter;
  const isCustom = since !== undefined || until !== undefined;
  const choose = (chosen: string): void => {
    if (chosen !== CUSTOM) refine({ range: chosen || null, since: null, until: null, ...FROM_THE_START });
  };
  return (
    <SelectField
      label="Created"
      value={isCustom ? CUSTOM : isRange(range) ? range : ""}
      onInput={choose}
      options={[
        ["", "at any time"],
        ...Object.entries(RANGES).map(([name, { says }]) => [name, says] as const),
        ...(isCustom ? [[CUSTOM, spanInWords(since, until)] as const] : []),
      ]}
    />
  );
};

/** The span of a cost whose jobs of unknown price are listed. */
const UnpricedField = ({ filter }: { filter: Filter }) => {
  const { unpriced_since: since, unpriced_until: until } = filter;
  if (since === undefined && until === undefined) return null;
  return (
    <SelectField
      label="Counted in the cost"
      value={CUSTOM}
      onInput={(chosen) => {
        if (chosen !== CUSTOM) refine({ unpriced_since: null, unpriced_until: null, ...FROM_THE_START });
      }}
      options={[
        ["", "at any time"],
        [CUSTOM, spanInWords(since, until)],
      ]}
    />
  );
};

const SORTS = [
  ["", "newest first"],
  ["-created_at", "oldest first"],
  ["finished_at", "last finished first"],
  ["cost_usd", "most expensive first"],
] as const;

export const JobSearch = () => {
  const { query } = place.value;
  const filter = filterIn(query);
  const range = query.get("range");
  const isArchived = isOfArchive(query);
  return (
    <search>
      <JobViews />
      <div class="search-row">
        <SearchLine filter={filter} />
        <UnpricedField filter={filter} />
        <RangeField filter={filter} range={range} />
        {!isArchived && (
          <SelectField
            label="Order"
            value={query.get("sort") ?? ""}
            onInput={(sort) => refine({ sort: sort || null, offset: null, cursor: null })}
            options={SORTS}
          />
        )}
      </div>
      <StateChips filter={filter} range={range} isArchived={isArchived} />
    </search>
  );
};
