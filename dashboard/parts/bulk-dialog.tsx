// Retries or cancels many jobs: shows how many and from which time before it acts, and changes exactly that number.

import { useRef, useState } from "preact/hooks";
import { ApiProblem } from "../../contract/client/problem.ts";
import type { BulkAction } from "../../contract/job-list.ts";
import type { JobStatus } from "../../contract/values.ts";
import { api } from "../api.ts";
import { count, plural } from "../format.ts";
import { serverNow } from "../state/clock.ts";
import { asJobFilter, type Filter, formatSearch } from "../state/job-filter.ts";
import { useLoad } from "../state/load.ts";
import { tell } from "../state/notice.ts";
import { rangeInWords } from "../state/time-range.ts";
import { Confirm } from "./dialog.tsx";
import { Choice } from "./form.tsx";
import { Loading } from "./page.tsx";
import { Problem } from "./problem.tsx";

/** The statuses in which a job can be retried or cancelled; the first group is used if the filter names none. */
const CHANGEABLE = {
  retry: { taken: ["failed"], others: ["assigned", "running"] },
  cancel: { taken: ["pending", "assigned", "running"], others: [] },
} as const satisfies Record<BulkAction, { taken: readonly JobStatus[]; others: readonly JobStatus[] }>;

const WORDS = {
  retry: { verb: "Retry", done: "back in the queue", isDestructive: false },
  cancel: { verb: "Cancel", done: "cancelled", isDestructive: true },
} as const;

export const mayChange = (action: BulkAction, status: string | undefined): boolean => {
  const { taken, others } = CHANGEABLE[action];
  return status === undefined || [...taken, ...others].some((one) => one === status);
};

interface Part {
  readonly filter: Filter;
  readonly total: number;
  readonly isCapped: boolean;
}

const countParts = (action: BulkAction, filter: Filter, signal: AbortSignal): Promise<Part[]> => {
  const statuses = filter.status === undefined ? CHANGEABLE[action].taken : [filter.status];
  return Promise.all(
    statuses.map(async (status) => {
      const part = { ...filter, status };
      const found = await api.jobs.list({ ...asJobFilter(part), limit: 1 }, { signal });
      return { filter: part, total: found.total, isCapped: found.total_is_capped };
    }),
  );
};

interface Tally {
  changed: number;
  refused: number;
}

/** Continues until no job remains or none changes. */
const changePart = async (action: BulkAction, part: Part, isExact: boolean, tally: Tally, onStep: () => void) => {
  const filter = asJobFilter(part.filter);
  let expected = isExact && !part.isCapped ? part.total : undefined;
  for (;;) {
    const report = await api.jobs.changeMany({ action, filter, ...(expected === undefined ? {} : { expected }) });
    tally.changed += report.changed;
    tally.refused = Object.values(report.refused).reduce((sum, one) => sum + one, 0);
    onStep();
    if (report.remaining === 0 || report.changed === 0) return;
    expected = undefined;
  }
};

const say = (action: BulkAction, { changed, refused }: Tally): void =>
  tell(
    `${plural(changed, "job is", "jobs are")} ${WORDS[action].done}${refused === 0 ? "." : `; ${count(refused)} could not be.`}`,
  );

interface BulkProps {
  action: BulkAction;
  filter: Filter;
  /** Offers to drop the start of the time range. */
  mayReachBack?: boolean;
  onDone: () => void;
  onClose: () => void;
}

type Reach = "range" | "ever";

export const BulkDialog = ({ action, filter, mayReachBack = false, onDone, onClose }: BulkProps) => {
  const { verb, isDestructive } = WORDS[action];
  // Jobs created after the dialog opened are not included.
  const openedAt = useRef(new Date(serverNow()).toISOString());
  const [reach, setReach] = useState<Reach>("range");
  const [progress, setProgress] = useState(0);
  const [wasRecounted, setRecounted] = useState(false);
  const { since, ...timeless } = filter;
  const bounded: Filter = {
    ...timeless,
    ...(since === undefined || reach === "ever" ? {} : { since }),
    until: filter.until ?? openedAt.current,
  };
  const { data, error, reload } = useLoad(JSON.stringify(bounded), (signal) => countParts(action, bounded, signal));
  const total = data?.reduce((sum, part) => sum + part.total, 0) ?? 0;
  const isCapped = data?.some((part) => part.isCapped) ?? false;
  const many = isCapped ? `more than ${plural(total, "job")}` : plural(total, "job");
  const confirm = async (): Promise<void> => {
    const tally = { changed: 0, refused: 0 };
    // Waiting jobs keep moving: after one recount, those that are left are cancelled.
    const isExact = action === "retry" || !wasRecounted;
    try {
      for (const part of data ?? [])
        if (part.total > 0) await changePart(action, part, isExact, tally, () => setProgress(tally.changed));
    } catch (refused) {
      if (refused instanceof ApiProblem && refused.code === "count_changed") setRecounted(true);
      reload();
      throw refused;
    } finally {
      if (tally.changed > 0) onDone();
    }
    say(action, tally);
    onDone();
  };
  const asks = formatSearch(bounded);
  return (
    <Confirm
      title={data === null ? `${verb} jobs` : `${verb} ${many}?`}
      action={data === null ? verb : `${verb} ${many}`}
      isDestructive={isDestructive}
      isReady={data !== null && total > 0}
      onConfirm={confirm}
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
      {data === null ? (
        error === null && <Loading what="how many there are" />
      ) : (
        <p>
          {total === 0 ? "None" : many} {(filter.status ?? CHANGEABLE[action].taken.join(", ")) || ""}
          {asks !== "" && (
            <>
              {" "}
              with <code>{asks}</code>
            </>
          )}
          , {rangeInWords(bounded)}.
        </p>
      )}
      {progress > 0 && (
        <p role="status">
          {count(progress)} of {count(total)} done …
        </p>
      )}
    </Confirm>
  );
};

const AT_ONCE = 5;

/** Changes the selected jobs, a few at a time. */
const changePicked = async (action: BulkAction, ids: readonly string[]): Promise<Tally> => {
  const tally = { changed: 0, refused: 0 };
  const waiting = [...ids];
  let lastProblem: unknown = null;
  const work = async (): Promise<void> => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await api.jobs[action](id);
        tally.changed += 1;
      } catch (problem) {
        tally.refused += 1;
        lastProblem = problem;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (tally.changed === 0 && lastProblem !== null) throw lastProblem;
  return tally;
};

interface PickedProps {
  action: BulkAction;
  ids: readonly string[];
  onDone: () => void;
  onClose: () => void;
}

export const PickedDialog = ({ action, ids, onDone, onClose }: PickedProps) => {
  const { verb, isDestructive } = WORDS[action];
  const many = plural(ids.length, "job");
  return (
    <Confirm
      title={`${verb} ${many}?`}
      action={`${verb} ${many}`}
      isDestructive={isDestructive}
      onConfirm={async () => {
        say(action, await changePicked(action, ids));
        onDone();
      }}
      onClose={onClose}
    >
      <p>
        {action === "retry"
          ? "Failed jobs go back into the queue; others stay as they are."
          : "They leave the queue, and workers are told to stop theirs. Finished jobs stay as they are."}
      </p>
    </Confirm>
  );
};
