// Retries or cancels many jobs: shows how many and from which time before it acts, and changes exactly that number.

import { useRef, useState } from "preact/hooks";
import { ApiProblem } from "../../contract/client/problem.ts";
import type { BulkAction } from "../../contract/jobs/job-list.ts";
import { USUAL_STATUSES } from "../../contract/words/values.ts";
import { count, plural } from "../format.ts";
import { changePart, countParts, type FilteredCount, tellOf, WORDS } from "../state/bulk-change.ts";
import { serverNow } from "../state/clock.ts";
import { type Filter, formatSearch } from "../state/job-filter.ts";
import { useLoad } from "../state/load.ts";
import { rangeInWords } from "../state/time-range.ts";
import { Confirm } from "./dialog.tsx";
import { Choice } from "./form.tsx";
import { Loading } from "./page.tsx";
import { Problem } from "./problem.tsx";

interface BulkProps {
  action: BulkAction;
  filter: Filter;
  /** Offers to drop the start of the time range. */
  mayReachBack?: boolean;
  onDone: () => void;
  onClose: () => void;
}

/** Changes what was counted, part by part. */
const useChange = (action: BulkAction, onDone: () => void) => {
  const [progress, setProgress] = useState(0);
  const [wasRecounted, setRecounted] = useState(false);
  const change = async (parts: readonly FilteredCount[], recount: () => void): Promise<void> => {
    const tally = { changed: 0, refused: 0 };
    // Waiting jobs keep moving: after one recount, those that are left are cancelled.
    const isExact = action === "retry" || !wasRecounted;
    try {
      for (const part of parts)
        if (part.changeable > 0) await changePart(action, part, isExact, tally, () => setProgress(tally.changed));
    } catch (refused) {
      if (refused instanceof ApiProblem && refused.code === "count_changed") setRecounted(true);
      recount();
      throw refused;
    } finally {
      if (tally.changed > 0) onDone();
    }
    tellOf(action, tally);
    onDone();
  };
  return { progress, change };
};

interface CountedProps {
  action: BulkAction;
  filter: Filter;
  total: number;
}

/** Which jobs the action changes, in words. */
const Counted = ({ action, filter, total }: CountedProps) => {
  const asks = formatSearch(filter);
  return (
    <p>
      {total === 0 ? "None" : plural(total, "job")} {filter.status ?? USUAL_STATUSES[action].join(", ")}
      {asks !== "" && (
        <>
          {" "}
          with <code>{asks}</code>
        </>
      )}
      , {rangeInWords(filter)}.
    </p>
  );
};

const NotRetried = ({ others }: { others: number }) => (
  <p class="dim">
    {plural(others, "more matches and stays", "more match and stay")} as {others === 1 ? "it is" : "they are"}: a
    batch's line, whose error is in its batch's results, and a request, whose client has its error, are not tried again.
  </p>
);

type Reach = "range" | "ever";

export const BulkDialog = ({ action, filter, mayReachBack = false, onDone, onClose }: BulkProps) => {
  const { verb, isDestructive } = WORDS[action];
  // Jobs created after the dialog opened are not included.
  const openedAt = useRef(new Date(serverNow()).toISOString());
  const [reach, setReach] = useState<Reach>("range");
  const { progress, change } = useChange(action, onDone);
  const { since, ...timeless } = filter;
  const bounded: Filter = {
    ...timeless,
    ...(since === undefined || reach === "ever" ? {} : { since }),
    until: filter.until ?? openedAt.current,
  };
  const { data, error, isLoading, reload } = useLoad(JSON.stringify(bounded), (signal) =>
    countParts(action, bounded, signal),
  );
  const total = data?.reduce((sum, part) => sum + part.changeable, 0) ?? 0;
  const others = (data?.reduce((sum, part) => sum + part.total, 0) ?? 0) - total;
  const many = plural(total, "job");
  return (
    <Confirm
      title={data === null ? `${verb} jobs` : `${verb} ${many}?`}
      action={data === null ? verb : `${verb} ${many}`}
      isDestructive={isDestructive}
      isReady={data !== null && !isLoading && error === null && total > 0}
      onConfirm={() => change(data ?? [], reload)}
      onClose={onClose}
    >
      {mayReachBack && since !== undefined && (
        <Choice<Reach>
          label="Which"
          value={reach}
          options={[
            ["range", rangeInWords({ since })],
            ["ever", "created at any time"],
          ]}
          onInput={setReach}
        />
      )}
      <Problem error={error} retry={reload} />
      {data === null && error === null && <Loading what="how many there are" />}
      {data !== null && <Counted action={action} filter={bounded} total={total} />}
      {action === "retry" && others > 0 && <NotRetried others={others} />}
      {progress > 0 && (
        <p role="status">
          {count(progress)} of {count(total)} done …
        </p>
      )}
    </Confirm>
  );
};
