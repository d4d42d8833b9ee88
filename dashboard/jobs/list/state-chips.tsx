// The statuses of jobs, each with the number of jobs that match the rest of the filter.

import { JOB_STATUSES, MINUTE_MS } from "../../../contract/words/values.ts";
import { api } from "../../api.ts";
import { count } from "../../format.ts";
import { refine } from "../../router.ts";
import { hasSnapshot, listedCounts } from "../../state/board.ts";
import { serverNow } from "../../state/clock.ts";
import { asJobFilter, type Filter, FROM_THE_START } from "../../state/job-filter.ts";
import { useLoad, useRounds, useThrottled } from "../../state/load.ts";
import { withRange } from "../../state/time-range.ts";
import { ArchivedChip } from "./archived-chip.tsx";

const RECOUNT_EVERY_MS = 10_000;

interface ChipsProps {
  readonly filter: Filter;
  readonly range: string | null;
  readonly isArchived: boolean;
}

/**
 * How many jobs of each status match the rest of the filter. Without a filter the socket tells it. With one it is read
 * from time to time, and each minute for a range such as "last hour", which jobs leave by time alone. A status that no
 * job has is not asked for.
 */
const useStateCounts = ({ filter, range, isArchived }: ChipsProps): Record<string, string> => {
  const { status: _status, ...rest } = filter;
  const isAll = Object.keys(rest).length === 0 && range === null;
  const live = hasSnapshot.value ? listedCounts.value : null;
  const activity = useThrottled(JSON.stringify(live), RECOUNT_EVERY_MS);
  // Of the archive nobody counts the jobs.
  const isAsked = !isArchived && !isAll && live !== null;
  const minute = useRounds(MINUTE_MS, isAsked && range !== null);
  const asked = [JSON.stringify(rest), range, activity, minute].join(" ");
  const { data } = useLoad(isAsked ? asked : null, async (signal) => {
    const base = withRange(rest, range, serverNow());
    const found = JOB_STATUSES.map(async (status) => {
      if (live?.[status] === 0) return [status, "0"] as const;
      const query = { ...asJobFilter(base), status, count_only: "true" } as const;
      const page = await api.jobs.list(query, { signal });
      return [status, `${count(page.total)}${page.total_is_capped ? "+" : ""}`] as const;
    });
    return Object.fromEntries(await Promise.all(found));
  });
  if (isArchived || live === null) return {};
  if (!isAll) return data ?? {};
  return Object.fromEntries(JOB_STATUSES.map((status) => [status, count(live[status] ?? 0)]));
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
