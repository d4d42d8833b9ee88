// Slots of latency: one row for each span of time, because each drain stores those that are being filled.

import {
  DIMENSIONS,
  type Dimension,
  MEASURES,
  type Measured,
  noMeasures,
  type Slot,
  type Slots,
} from "../../../domain/insight/latency.ts";
import { SLOT_KINDS, SLOTS, type SlotKind } from "../../../domain/insight/slots.ts";
import { all, first, put, type Row, type Sql } from "../sql.ts";

/** A value's jobs, then each measure's buckets: `[bucket, count, bucket, count, …]`. */
type Written = readonly (readonly [value: string, jobs: number, ...measures: number[][]])[];

const writeSlot = (slot: Slot): string =>
  JSON.stringify(
    [...slot].map(([value, measured]) => [
      value,
      measured.jobs,
      ...MEASURES.map((measure) => [...measured[measure]].flat()),
    ]) satisfies Written,
  );

const readSlot = (text: string): Slot =>
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

const writeSlots = (slots: Slots): string => `{${DIMENSIONS.map((by) => `"${by}":${writeSlot(slots[by])}`).join(",")}}`;

const ofDimension = (by: Dimension): string => `body -> '$.${by}' AS ${by}`;

const readSlots = (row: Row): Slots => ({
  model: readSlot(row.model as string),
  provider: readSlot(row.provider as string),
  worker: readSlot(row.worker as string),
  tag: readSlot(row.tag as string),
});

export const latencyTable = (sql: Sql) => ({
  find: (kind: SlotKind, at: number): Slots | null => {
    const columns = DIMENSIONS.map(ofDimension).join(", ");
    const row = first(sql, `SELECT ${columns} FROM latency WHERE kind = ? AND at = ?`, kind, at);
    return row === null ? null : readSlots(row);
  },

  put: (kind: SlotKind, at: number, slots: Slots): void => {
    put(sql, "latency", { kind, at, body: writeSlots(slots) });
  },

  /** Oldest first. */
  since: (kind: SlotKind, by: Dimension, at: number): { readonly at: number; readonly slot: Slot }[] => {
    const query = `SELECT at, ${ofDimension(by)} FROM latency WHERE kind = ? AND at >= ? ORDER BY at`;
    return all(sql, query, kind, at).map((row) => ({ at: row.at as number, slot: readSlot(row[by] as string) }));
  },

  removeOld: (nowAt: number): void => {
    for (const kind of SLOT_KINDS)
      sql.exec("DELETE FROM latency WHERE kind = ? AND at < ?", kind, nowAt - SLOTS[kind].keptMs);
  },
});
