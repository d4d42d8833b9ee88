// The search line of the jobs page, with completion.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { api } from "../../api.ts";
import { place, refine } from "../../router.ts";
import { schedules } from "../../state/board.ts";
import {
  completions,
  type Filter,
  FROM_THE_START,
  formatSearch,
  isSearched,
  parseSearch,
} from "../../state/job-filter.ts";
import { useLoad, useSettled } from "../../state/load.ts";
import { offered } from "../../state/offered.ts";

/** What the line can complete: current error codes, and names from the fleet. */
const useKnown = (isWanted: boolean): Record<string, readonly string[]> => {
  const { data } = useLoad(isWanted ? "codes" : null, (signal) => api.jobs.failures({}, { signal }));
  const { instances, providers, models, tags } = offered.value;
  return {
    error: [...new Set(data?.failures.map(({ code }) => code))].sort(),
    ran: providers,
    provider: providers,
    model: models,
    tag: tags,
    worker: instances,
    schedule: (schedules.value ?? []).map(({ name }) => name).sort(),
    unpriced: ["true", "false"],
  };
};

export const SearchLine = ({ filter }: { filter: Filter }) => {
  const id = useId();
  const said = formatSearch(filter);
  const [line, setLine] = useState(said);
  const [isUsed, setUsed] = useState(false);
  const settled = useSettled(line);
  const sent = useRef(said);
  useEffect(() => {
    if (settled === sent.current) return;
    const found = parseSearch(settled);
    sent.current = formatSearch(found);
    if (found.status !== undefined) setLine(sent.current);
    const gone = [...place.peek().query.keys()].filter(isSearched).map((name) => [name, null]);
    refine({ ...Object.fromEntries(gone), ...found, ...FROM_THE_START });
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
