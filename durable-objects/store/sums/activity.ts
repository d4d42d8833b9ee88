// Slots of activity: one row for each span of time in which something happened.

import type { Activity } from "../../../domain/insight/activity.ts";
import { SLOT_KINDS, SLOTS, type SlotKind } from "../../../domain/insight/slots.ts";
import { all, first, put, type Sql } from "../sql.ts";

export interface ActivitySlot {
  readonly at: number;
  readonly activity: Activity;
}

type SlotRow = { readonly at: number; readonly body: string };

const slotOf = ({ at, body }: SlotRow): ActivitySlot => ({ at, activity: JSON.parse(body) });

export const activityTable = (sql: Sql) => ({
  /** The newest slot that began at this instant or before. */
  newest: (kind: SlotKind, at: number): ActivitySlot | null => {
    const row = first<SlotRow>(
      sql,
      "SELECT at, body FROM activity WHERE kind = ? AND at <= ? ORDER BY at DESC LIMIT 1",
      kind,
      at,
    );
    return row === null ? null : slotOf(row);
  },

  put: (kind: SlotKind, at: number, activity: Activity): void => {
    put(sql, "activity", { kind, at, body: JSON.stringify(activity) });
  },

  /** Oldest first. */
  since: (kind: SlotKind, at: number): ActivitySlot[] =>
    all<SlotRow>(sql, "SELECT at, body FROM activity WHERE kind = ? AND at >= ? ORDER BY at", kind, at).map(slotOf),

  removeOld: (nowAt: number): void => {
    for (const kind of SLOT_KINDS)
      sql.exec("DELETE FROM activity WHERE kind = ? AND at < ?", kind, nowAt - SLOTS[kind].keptMs);
  },
});
