// Finding jobs: a search line with completion, statuses with counts, a time range, and saved views.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { JobListQuery } from "../../contract/job-list.ts";
import { JOB_STATUSES } from "../../contract/values.ts";
import { api } from "../api.ts";
import { count, splitTags } from "../format.ts";
import { place, refine } from "../router.ts";
import { counts, isOpen, schedules, workers } from "../state/board.ts";
import { serverNow } from "../state/clock.ts";
import { completions, type Filter, filterIn, formatSearch, isSearched, parseSearch } from "../state/job-filter.ts";
import { useLoad, useSettled, useThrottled } from "../state/load.ts";
import { forgetView, GIVEN_VIEWS, readViews, savedViews, saveView, type View } from "../state/saved-views.ts";
import { isRange, RANGES, spanInWords, withRange } from "../state/time-range.ts";
import { Confirm } from "./dialog.tsx";
import { SelectField, TextField } from "./form.tsx";
import { Icon } from "./icon.tsx";

const TYPING_MS = 300;
const RECOUNT_EVERY_MS = 10_000;
const NEVER_MIND = { offset: null, cursor: null, waits: null };

const sorted = (values: Iterable<string>): string[] => [...new Set(values)].filter(Boolean).sort();

/** What the line can complete: current error codes, and names from the fleet. */
const useKnown = (isWanted: boolean): Record<string, readonly string[]> => {
  const { data } = useLoad(isWanted ? "codes" : null, (signal) => api.jobs.failures({}, { signal }));
  const fleet = [...workers.value.values()];
  const providers = sorted(fleet.map(({ provider }) => provider));
  return {
    error: sorted(data?.failures.map(({ code }) => code) ?? []),
    ran: providers,
    provider: providers,
    model: sorted(fleet.flatMap(({ models }) => models ?? [])),
    tag: sorted(fleet.flatMap(({ tags }) => splitTags(tags))),
    worker: sorted(fleet.map(({ instance }) => instance)),
    schedule: sorted((schedules.value ?? []).map(({ name }) => name)),
    unpriced: ["true", "false"],
  };
};

const SearchLine = ({ filter }: { filter: Filter }) => {
  const id = useId();
  const said = formatSearch(filter);
  const [line, setLine] = useState(said);
  const [isUsed, setUsed] = useState(false);
  const settled = useSettled(line, TYPING_MS);
  const sent = useRef(said);
  useEffect(() => {
    if (settled === sent.current) return;
    sent.current = formatSearch(parseSearch(settled));
    const gone = [...place.peek().query.keys()].filter(isSearched).map((name) => [name, null]);
    refine({ ...Object.fromEntries(gone), ...parseSearch(settled), ...NEVER_MIND });
  }, [settled]);
  // Follows a link or a view that changed the address, unless the line itself changed it.
  useEffect(() => {
    if (said === sent.current) return;
    sent.current = said;
    setLine(said);
  }, [said]);
  const options = completions(line, useKnown(isUsed));
  return (
    <div class="field search-line">
      <label for={id}>Search</label>
      <input
        id={id}
        type="search"
        value={line}
        list={`${id}-list`}
        placeholder="id, words, error:500 ran:openai tag:gpu"
        autocomplete="off"
        spellcheck={false}
        aria-keyshortcuts="/"
        onFocus={() => setUsed(true)}
        onInput={(event) => setLine(event.currentTarget.value)}
      />
      <datalist id={`${id}-list`}>
        {options.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </div>
  );
};

/** How many jobs of each status match the rest of the filter: open ones live, the others read from time to time. */
const useStateCounts = (filter: Filter, range: string | null): Record<string, string> => {
  const { status: _status, ...rest } = filter;
  const isAll = Object.keys(rest).length === 0 && range === null;
  const activity = useThrottled(JSON.stringify(counts.value), RECOUNT_EVERY_MS);
  const asked = isAll ? JOB_STATUSES.filter((one) => !isOpen(one)) : JOB_STATUSES;
  const { data } = useLoad(`${JSON.stringify(rest)} ${range} ${activity}`, async (signal) => {
    const base = withRange(rest, range, serverNow());
    const found = asked.map(async (status) => {
      const page = await api.jobs.list({ ...base, status, limit: 1 } as unknown as JobListQuery, { signal });
      return [status, `${count(page.total)}${page.total_is_capped ? "+" : ""}`] as const;
    });
    return Object.fromEntries(await Promise.all(found));
  });
  const open = JOB_STATUSES.filter((one) => isOpen(one) && isAll);
  return { ...data, ...Object.fromEntries(open.map((status) => [status, count(counts.value[status] ?? 0)])) };
};

const StateChips = ({ filter, range }: { filter: Filter; range: string | null }) => {
  const found = useStateCounts(filter, range);
  const choose = (status: string | null) => refine({ status, ...NEVER_MIND });
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for what is sent
    <div class="chips" role="group" aria-label="State">
      <button type="button" class="chip" aria-pressed={filter.status === undefined} onClick={() => choose(null)}>
        all
      </button>
      {JOB_STATUSES.map((status) => (
        <button
          key={status}
          type="button"
          class={`chip chip-${status}`}
          aria-pressed={filter.status === status}
          onClick={() => choose(filter.status === status ? null : status)}
        >
          {status} <span class="num chip-count">{found[status] ?? ""}</span>
        </button>
      ))}
    </div>
  );
};

const CUSTOM = "custom";

const RangeField = ({ filter, range }: { filter: Filter; range: string | null }) => {
  const { since, until } = filter;
  const isCustom = since !== undefined || until !== undefined;
  const choose = (chosen: string): void => {
    if (chosen !== CUSTOM) refine({ range: chosen || null, since: null, until: null, ...NEVER_MIND });
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
        if (chosen !== CUSTOM) refine({ unpriced_since: null, unpriced_until: null, ...NEVER_MIND });
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

const viewInAddress = (): string => {
  const kept = [...place.value.query].filter(([name]) => name !== "offset" && name !== "cursor");
  return new URLSearchParams(kept).toString();
};

const SaveDialog = ({ query, onClose }: { query: string; onClose: () => void }) => {
  const [name, setName] = useState("");
  return (
    <Confirm
      title="Save this view"
      action="Save"
      isReady={name.trim() !== ""}
      onConfirm={async () => saveView({ name: name.trim(), query })}
      onClose={onClose}
    >
      <TextField
        label="Name"
        hint="Saved in this browser. The page's address also contains the view: send it to a colleague."
        value={name}
        onInput={setName}
        isRequired
        autoFocus
      />
    </Confirm>
  );
};

const ViewLink = ({ view, isHere }: { view: View; isHere: boolean }) => (
  <a href={`#/jobs?${view.query}`} aria-current={isHere ? "true" : undefined}>
    {view.name}
  </a>
);

const Views = () => {
  const [isSaving, setSaving] = useState(false);
  useEffect(readViews, []);
  const here = viewInAddress();
  const isKnown = [...GIVEN_VIEWS, ...savedViews.value].some(({ query }) => query === here);
  return (
    <nav class="views" aria-label="Views">
      <ul>
        {GIVEN_VIEWS.map((view) => (
          <li key={view.name}>
            <ViewLink view={view} isHere={view.query === here} />
          </li>
        ))}
        {savedViews.value.map((view) => (
          <li key={view.name}>
            <ViewLink view={view} isHere={view.query === here} />
            <button
              type="button"
              class="icon-button"
              aria-label={`Delete the view ${view.name}`}
              onClick={() => forgetView(view.name)}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      {here !== "" && !isKnown && (
        <button type="button" class="button small quiet" onClick={() => setSaving(true)}>
          Save this view
        </button>
      )}
      {isSaving && <SaveDialog query={here} onClose={() => setSaving(false)} />}
    </nav>
  );
};

export const JobSearch = () => {
  const { query } = place.value;
  const filter = filterIn(query);
  const range = query.get("range");
  return (
    <search class="job-search">
      <Views />
      <div class="search-row">
        <SearchLine filter={filter} />
        <UnpricedField filter={filter} />
        <RangeField filter={filter} range={range} />
        <SelectField
          label="Order"
          value={query.get("sort") ?? ""}
          onInput={(sort) => refine({ sort: sort || null, offset: null, cursor: null })}
          options={SORTS}
        />
      </div>
      <StateChips filter={filter} range={range} />
    </search>
  );
};
