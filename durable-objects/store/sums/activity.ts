// Slots of activity: one row for each span of time in which something happened.

import type { Activity } from "../../../domain/insight/activity.ts";
import { SLOT_KINDS, SLOTS, type SlotKind } from "../../../domain/insight/slots.ts";
import { all, first, put, type Row, type Sql } from "../sql.ts";

export interface ActivitySlot {
  readonly at: number;
  readonly activity: Activity;
}

const slotOf = (row: Row): ActivitySlot => ({
  at: row.at as number,
  activity: JSON.parse(row.body as string) as Activity,
});

export const activityTable = (sql: Sql) => ({
  /** The newest slot that began at this instant or before. */
  newest: (kind: SlotKind, at: number): ActivitySlot | null => {
    const row = first(
      sql,
      "SELECT at, body FROM activity WHERE kind = ? AND at <= ? ORDER BY at DESC LIMIT 1",
      kind,
      at,
    );
    return row === null ? null : slotOf(row);
  },

  put: (kind: SlotKind, { at, activity }: ActivitySlot): void => {
    put(sql, "activity", { kind, at, body: JSON.stringify(activity) });
  },

  /** Oldest first. */
  since: (kind: SlotKind, at: number): ActivitySlot[] =>
    all(sql, "SELECT at, body FROM activity WHERE kind = ? AND at >= ? ORDER BY at", kind, at).map(slotOf),

  removeOld: (nowAt: number): void => {
    for (const kind of SLOT_KINDS)
      sql.exec("DELETE FROM activity WHERE kind = ? AND at < ?", kind, nowAt - SLOTS[kind].keptMs);
  },
});
