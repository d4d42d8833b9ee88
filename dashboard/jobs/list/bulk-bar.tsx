// The bar above the list: what is selected, what can be done with it, and how many jobs are new. Always visible, so
// that the list does not move.

import { useState } from "preact/hooks";
import type { BulkAction } from "../../../contract/jobs/job-list.ts";
import { count, plural } from "../../format.ts";
import { BulkDialog } from "../../parts/bulk-dialog.tsx";
import { mayChange, mayChangeJob } from "../../state/bulk-change.ts";
import { useLostWorkers } from "../../state/lost-workers.ts";
import { mayOperate } from "../../state/session.ts";
import type { HeldList } from "./held-jobs.ts";
import { PickedDialog } from "./picked-dialog.tsx";

interface BarProps {
  list: HeldList;
  picked: ReadonlySet<string>;
  isAll: boolean;
  onPick: (ids: ReadonlySet<string>, isAll: boolean) => void;
  onShow: () => void;
}

const NewJobs = ({ many, onShow }: { many: number; onShow: () => void }) =>
  many === 0 ? null : (
    <button type="button" class="button small new-jobs" onClick={onShow}>
      {count(many)} new – show
    </button>
  );

const NOBODY: ReadonlySet<string> = new Set();

export const BulkBar = ({ list, picked, isAll, onPick, onShow }: BarProps) => {
  const [open, setOpen] = useState<BulkAction | null>(null);
  const shown = list.rows.length;
  const matching = `${count(list.total)}${list.isCapped ? "+" : ""}`;
  const isEveryRow = shown > 0 && list.rows.every(({ id }) => picked.has(id));
  const done = (): void => onPick(NOBODY, false);
  const { status } = list.asked;
  const pickedRows = list.rows.filter(({ id }) => picked.has(id));
  const lost = useLostWorkers(pickedRows);
  const isOffered = (action: BulkAction): boolean =>
    mayChange(action, status) && (isAll || pickedRows.some((job) => mayChangeJob(action, job, lost)));
  /** Of a job that is not in the list any more, the service decides. */
  const changeableIds = (action: BulkAction): string[] =>
    [...picked].filter((id) => pickedRows.every((job) => job.id !== id || mayChangeJob(action, job, lost)));
  const isAny = isAll || picked.size > 0;
  if (!mayOperate.value) {
    return (
      <div class="jobs-bar">
        <span class="bulk-fill" />
        <NewJobs many={list.newIds.size} onShow={onShow} />
      </div>
    );
  }
  return (
    <div class="jobs-bar">
      <span class="bulk-pick">
        <input
          type="checkbox"
          aria-label="Select all on this page"
          checked={isEveryRow || isAll}
          disabled={shown === 0}
          onChange={() => onPick(isEveryRow || isAll ? NOBODY : new Set(list.rows.map(({ id }) => id)), false)}
        />
        <span role="status">
          {isAll ? `all ${matching} that match` : isAny ? `${plural(picked.size, "job")} selected` : "none selected"}
        </span>
      </span>
      {isEveryRow && !isAll && list.reason === null && list.total > shown && (
        <button type="button" class="button small" onClick={() => onPick(picked, true)}>
          Select all {matching} that match
        </button>
      )}
      {isAny &&
        (["retry", "cancel"] as const).filter(isOffered).map((action) => (
          <button
            key={action}
            type="button"
            class={`button small${action === "cancel" ? " danger" : ""}`}
            onClick={() => setOpen(action)}
          >
            {action === "retry" ? "Retry …" : "Cancel …"}
          </button>
        ))}
      <span class="bulk-fill" />
      <NewJobs many={list.newIds.size} onShow={onShow} />
      {open !== null && isAll && (
        <BulkDialog action={open} filter={list.asked} onDone={done} onClose={() => setOpen(null)} />
      )}
      {open !== null && !isAll && (
        <PickedDialog action={open} ids={changeableIds(open)} onDone={done} onClose={() => setOpen(null)} />
      )}
    </div>
  );
};
