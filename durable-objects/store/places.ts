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

export const placesIn = (sql: Sql, table: "files" | "batches") => {
  const gone = new Recent<Place>(PLACES_KEPT);
  const placeOf = (id: string): Place | null =>
    first<Place>(sql, `SELECT id, owner, created_at AS createdAt FROM ${table} WHERE id = ?`, id) ??
    gone.get(id) ??
    null;
  return {
    placeOf,
    /** Before its row is deleted. */
    keepPlace: (id: string): void => {
      const place = placeOf(id);
      if (place !== null) gone.keep(id, place);
    },
  };
};
