// Reads open jobs wherever they are: the journal has the newest, the table the others. What is asked for is given twice:
// as a condition for the table, and as the jobs of the journal that meet it.

import type { Job } from "../../../domain/job/job.ts";
import type { Journaled } from "../journaled.ts";
import { all, type Row, type Sql, type SqlValue, scalar } from "../sql.ts";

interface Which {
  readonly where: string;
  readonly bindings?: readonly SqlValue[];
  readonly young: readonly Journaled[];
  /** The journal is known to have them all: the table is not read. */
  readonly isYoungOnly?: boolean;
}

type Placed = Pick<Journaled, "job" | "dueAt">;

/** The same order twice, too. */
interface Order {
  readonly by: string;
  readonly compare: (one: Placed, other: Placed) => number;
}

/** Ids are in order of creation. */
export const OLDEST_FIRST: Order = { by: "id", compare: ({ job }, other) => (job.id < other.job.id ? -1 : 1) };
export const NEWEST_FIRST: Order = { by: "id DESC", compare: ({ job }, other) => (job.id < other.job.id ? 1 : -1) };
export const LONGEST_DUE_FIRST: Order = {
  by: "due_at",
  compare: ({ dueAt }, other) => (dueAt ?? 0) - (other.dueAt ?? 0),
};

const toPlaced = (row: Row): Placed => ({
  job: JSON.parse(row.record as string) as Job,
  dueAt: row.due_at as number | null,
});

export const openJobs = (sql: Sql) => {
  const old = ({ where, bindings = [] }: Which, rest: string, ...more: SqlValue[]): Placed[] =>
    all(sql, `SELECT due_at, record FROM jobs WHERE ${where} ${rest}`, ...bindings, ...more).map(toPlaced);
  const jobsOf = (placed: readonly Placed[]): Job[] => placed.map(({ job }) => job);
  return {
    list: (which: Which): Job[] => jobsOf([...old(which, ""), ...which.young]),

    /** The first ones, at most `limit`. */
    inOrder: (which: Which, order: Order, limit: number): Job[] => {
      const found = which.isYoungOnly ? [] : old(which, `ORDER BY ${order.by} LIMIT ?`, limit);
      return jobsOf([...found, ...which.young].sort(order.compare).slice(0, limit));
    },

    count: ({ where, bindings = [], young }: Which): number =>
      (scalar(sql, `SELECT COUNT(*) FROM jobs WHERE ${where}`, ...bindings) ?? 0) + young.length,

    has: ({ where, bindings = [], young }: Which): boolean =>
      young.length > 0 || all(sql, `SELECT 1 FROM jobs WHERE ${where} LIMIT 1`, ...bindings).length > 0,
  };
};
