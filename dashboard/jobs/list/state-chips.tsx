// The statuses of jobs, each with the number of jobs that match the rest of the filter.

import { JOB_STATUSES } from "../../../contract/words/values.ts";
import { api } from "../../api.ts";
import { count } from "../../format.ts";
import { refine } from "../../router.ts";
import { counts, isOpen } from "../../state/board.ts";
import { serverNow } from "../../state/clock.ts";
import { asJobFilter, type Filter, FROM_THE_START } from "../../state/job-filter.ts";
import { useLoad, useThrottled } from "../../state/load.ts";
import { withRange } from "../../state/time-range.ts";
import { ArchivedChip } from "./archived-chip.tsx";

const RECOUNT_EVERY_MS = 10_000;

interface ChipsProps {
  readonly filter: Filter;
  readonly range: string | null;
  readonly isArchived: boolean;
}

/** How many jobs of each status match the rest of the filter: open ones live, the others read from time to time. */
const useStateCounts = ({ filter, range, isArchived }: ChipsProps): Record<string, string> => {
  const { status: _status, ...rest } = filter;
  const isAll = Object.keys(rest).length === 0 && range === null;
  const activity = useThrottled(JSON.stringify(counts.value), RECOUNT_EVERY_MS);
  const asked = isAll ? JOB_STATUSES.filter((one) => !isOpen(one)) : JOB_STATUSES;
  // Of the archive nobody counts the jobs.
  const name = isArchived ? null : `${JSON.stringify(rest)} ${range} ${activity}`;
  const { data } = useLoad(name, async (signal) => {
    const base = withRange(rest, range, serverNow());
    const found = asked.map(async (status) => {
      const page = await api.jobs.list({ ...asJobFilter(base), status, limit: 1 }, { signal });
      return [status, `${count(page.total)}${page.total_is_capped ? "+" : ""}`] as const;
    });
    return Object.fromEntries(await Promise.all(found));
  });
  if (isArchived) return {};
  const open = JOB_STATUSES.filter((one) => isOpen(one) && isAll);
  return { ...data, ...Object.fromEntries(open.map((status) => [status, count(counts.value[status] ?? 0)])) };
};

export const StateChips = (chips: ChipsProps) => {
  const { filter, isArchived } = chips;
  const found = useStateCounts(chips);
  const choose = (status: string | null) => refine({ status, ...FROM_THE_START });
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
      <ArchivedChip isArchived={isArchived} />
    </div>
  );
};
