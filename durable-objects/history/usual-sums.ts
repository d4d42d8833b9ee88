// Adds to the sums of cost what `add-up.ts` has added up: a few rows for all usual attempts of a load. Each comes with an
// attempt of its outbox row, whose attempts are inserted together or not at all: where history has that one, it has
// added the sum, too. So these run before the attempts are inserted.

import { GIVEN } from "./attempt-sums.ts";
import { ADDED, COLUMNS, NAMES, TENANT } from "./cost-sums.ts";

/** A row is the attempt's job and lease, three columns that find the sum, and what is added. */
const FIRST_SUM = 5;
const TOTALS = NAMES.map((_, index) => `SUM(value ->> ${FIRST_SUM + index})`).join(", ");
const IS_NEW = `NOT EXISTS (SELECT 1 FROM attempts AS known
    WHERE known.tenant = ${TENANT} AND known.job_id = value ->> 0 AND known.lease = value ->> 1)`;

const addedTo = (table: string, found: string): string => `${GIVEN}
  INSERT INTO ${table} (tenant, ${found}, ${COLUMNS})
  SELECT ?1, value ->> 2, value ->> 3, value ->> 4, ${TOTALS} FROM given WHERE ${IS_NEW} GROUP BY 2, 3, 4
  ON CONFLICT (tenant, ${found}) DO UPDATE SET ${ADDED}`;

export const USUAL_SUMS = {
  hourSums: addedTo("cost_hours", "hour_at, provider, model"),
  groupSums: addedTo("cost_by_hours", "name, hour_at, value"),
} as const;
