// A page of rows, with how many there are in all.

import type { TenantHistory } from "./tenant-history.ts";

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** `count` selects one number, named `total`. The two see the same state. */
export const readPage = async <Row>(
  { db }: TenantHistory,
  page: D1PreparedStatement,
  count: D1PreparedStatement,
): Promise<Page<Row>> => {
  const [listed, counted] = await db.batch<unknown>([page, count]);
  const [sum] = (counted?.results ?? []) as { total: number }[];
  return { rows: (listed?.results ?? []) as Row[], total: sum?.total ?? 0 };
};
