// Where rows stand in a list that goes on behind the id of its last row. Who reads such a list may delete what it has
// read, so the places of rows that were deleted a moment ago are known, too.

import { Recent } from "./recent.ts";
import { first, type Sql } from "./sql.ts";

export interface Place {
  readonly id: string;
  readonly owner: string | null;
  readonly createdAt: number;
}

export const PLACES_KEPT = 1_000;
const PLACE = "id, owner, created_at AS createdAt";

export const placesIn = (sql: Sql, table: "files" | "batches") => {
  const gone = new Recent<Place | null>(PLACES_KEPT);
  return {
    placeOf: (id: string): Place | null =>
      first<Place>(sql, `SELECT ${PLACE} FROM ${table} WHERE id = ?`, id) ?? gone.get(id) ?? null,

    /** Its place stays known. */
    deleteRow: (id: string): void =>
      gone.keep(id, first<Place>(sql, `DELETE FROM ${table} WHERE id = ? RETURNING ${PLACE}`, id)),
  };
};
