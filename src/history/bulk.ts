// The jobs of a bulk change: counts all that match the filter, and lists the oldest that may be changed.

import { type BulkAction, type JobFilter, MAX_BULK_JOBS } from "../../contract/jobs/job-list.ts";
import type { Brought } from "../../domain/job/archived-job.ts";
import { CHANGEABLE_STATUSES } from "../../domain/words/job-status.ts";
import { oneByOne, toArchived, wholeRows } from "./jobs.ts";
import { statusWord } from "./lists/conditions.ts";
import { countOf, type Lead, leadOf, type Selected, selectionOf } from "./lists/selection.ts";
import { readHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";

interface BulkSelection {
  readonly matched: number;
  /** How many of them the action may change, as far as history tells. */
  readonly changeable: number;
  /** The oldest of these, at most `MAX_BULK_JOBS`. */
  readonly ids: readonly string[];
}

/**
 * A client's request or a line of a batch is not retried once it has failed, so it must not take another job's place
 * among the oldest.
 */
const ALSO_REQUIRED: Readonly<Record<BulkAction, string>> = {
  retry: " AND (+jobs.status <> 'failed' OR jobs.record ->> '$.api' IS NULL)",
  cancel: "",
};

const isChangeableBy = (action: BulkAction): string =>
  `(+jobs.status IN (${CHANGEABLE_STATUSES[action].map((status) => `'${status}'`).join(", ")})${ALSO_REQUIRED[action]})`;

/** The full-text index knows the statuses: of all other jobs no row is read. */
const changeableBy = (tenant: string, action: BulkAction, filter: JobFilter, lead: Lead): Selected => {
  const words = [...lead.words, statusWord(tenant, CHANGEABLE_STATUSES[action])];
  const selected = selectionOf(tenant, filter, lead.by === "unpriced" ? lead : { ...lead, by: "index", words });
  return { ...selected, where: `${selected.where} AND ${isChangeableBy(action)}` };
};

const oldestOf = (history: TenantHistory, { from, where, place, bindings }: Selected): D1PreparedStatement => {
  const order = place ?? "jobs.created_at, jobs.seq";
  const sql = `SELECT jobs.id FROM ${from} WHERE ${where} ORDER BY ${order} LIMIT ${MAX_BULK_JOBS}`;
  return history.statement(sql, ...bindings);
};

export const selectForBulk = (history: TenantHistory, action: BulkAction, filter: JobFilter): Promise<BulkSelection> =>
  readHistory(async () => {
    const lead = await leadOf(history, filter);
    const changeable = changeableBy(history.tenant, action, filter, lead);
    const [counted, may, oldest] = await history.db.batch<{ total: number } & { id: string }>([
      countOf(history, selectionOf(history.tenant, filter, lead).counted, null),
      countOf(history, changeable, null),
      oldestOf(history, changeable),
    ]);
    return {
      matched: counted?.results[0]?.total ?? 0,
      changeable: may?.results[0]?.total ?? 0,
      ids: (oldest?.results ?? []).map(({ id }) => id),
    };
  });

/** Jobs that have left the object, with what a command on them needs. */
export const findManyArchived = (
  history: TenantHistory,
  ids: readonly string[],
  absentAt: number,
): Promise<{ id: string; archived: Brought }[]> =>
  readHistory(async () =>
    oneByOne(await wholeRows(history, ids), async (row) => ({
      id: row.id,
      archived: { ...(await toArchived(row)), result: null, absentAt },
    })),
  );
