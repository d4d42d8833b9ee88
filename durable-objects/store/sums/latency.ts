// Slots of latency: one row for each dimension and span of time.

import { type Dimension, MEASURES, type Measured, noMeasures, type Slot } from "../../../domain/insight/latency.ts";
import { SLOT_KINDS, SLOTS, type SlotKind } from "../../../domain/insight/slots.ts";
import { all, first, type Sql } from "../sql.ts";

/** A value's jobs, then each measure's buckets: `[bucket, count, bucket, count, …]`. */
type Written = readonly (readonly [value: string, jobs: number, ...measures: number[][]])[];

export const writeSlot = (slot: Slot): string =>
  JSON.stringify(
    [...slot].map(([value, measured]) => [
      value,
      measured.jobs,
      ...MEASURES.map((measure) => [...measured[measure]].flat()),
    ]) satisfies Written,
  );

export const readSlot = (text: string): Slot =>
  new Map(
    (JSON.parse(text) as Written).map(([value, jobs, ...measures]) => {
      const measured: Measured = { ...noMeasures(), jobs };
      for (const [at, measure] of MEASURES.entries()) {
        const cells = measures[at] ?? [];
        for (let cell = 0; cell < cells.length; cell += 2)
          measured[measure].set(cells[cell] as number, cells[cell + 1] as number);
      }
      return [value, measured];
    }),
  );

export const latencyTable = (sql: Sql) => ({
  find: (kind: SlotKind, by: Dimension, at: number): Slot | null => {
    const row = first(sql, "SELECT body FROM latency WHERE kind = ? AND dimension = ? AND at = ?", kind, by, at);
    return row === null ? null : readSlot(row.body as string);
  },

  put: (kind: SlotKind, by: Dimension, at: number, slot: Slot): void => {
    sql.exec(
      "INSERT OR REPLACE INTO latency (kind, dimension, at, body) VALUES (?, ?, ?, ?)",
      kind,
      by,
      at,
      writeSlot(slot),
    );
  },

  /** Oldest first. */
  since: (kind: SlotKind, by: Dimension, at: number): { readonly at: number; readonly slot: Slot }[] =>
    all(sql, "SELECT at, body FROM latency WHERE kind = ? AND dimension = ? AND at >= ? ORDER BY at", kind, by, at).map(
      (row) => ({ at: row.at as number, slot: readSlot(row.body as string) }),
    ),

  removeOld: (nowAt: number): void => {
    for (const kind of SLOT_KINDS)
      sql.exec("DELETE FROM latency WHERE kind = ? AND at < ?", kind, nowAt - SLOTS[kind].keptMs);
  },
});
