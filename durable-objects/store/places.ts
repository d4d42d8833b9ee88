// Where rows stand in a list that goes on behind the id of its last row. Who reads such a list may delete what it has
// read, so the places of the rows that were deleted last are kept, too.

import { first, type Sql } from "./sql.ts";

export interface Place {
  readonly id: string;
  readonly owner: string | null;
  readonly createdAt: number;
}

/** Of all lists. */
export const PLACES_KEPT = 2_000;

export const placesIn = (sql: Sql, table: "files" | "batches") => {
  const placeIn = (from: string, id: string): Place | null =>
    first(sql, `SELECT id, owner, created_at AS createdAt FROM ${from} WHERE id = ?`, id);
  return {
    placeOf: (id: string): Place | null => placeIn(table, id) ?? placeIn("left_places", id),

    /** Its place stays known. */
    deleteRow: (id: string): void => {
      sql.exec(
        `INSERT INTO left_places (id, owner, created_at) SELECT id, owner, created_at FROM ${table} WHERE id = ?`,
        id,
      );
      sql.exec("DELETE FROM left_places WHERE n <= (SELECT MAX(n) FROM left_places) - ?", PLACES_KEPT);
      sql.exec(`DELETE FROM ${table} WHERE id = ?`, id);
    },
  };
};
