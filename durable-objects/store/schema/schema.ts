// The object's tables, step by step. Append-only: a shipped step is never edited, a change is a new step at the end; each
// twenty have a file. A table has the columns that SQL needs to find a row, and the record itself as JSON, so that a new
// field needs no new column; if old records must have it, a step adds it
// (`UPDATE jobs SET record = json_set(record, '$.field', 0)`), and `USUAL` adds it to those in the journal. Forwards
// only: tables of a newer release are left unchanged and not served.

import { type Sql, scalar } from "../sql.ts";
import { FROM_0 } from "./steps-from-0.ts";
import { FROM_20 } from "./steps-from-20.ts";
import { FROM_40 } from "./steps-from-40.ts";

/** Statements that lead from one version to the next. */
type SchemaStep = readonly string[];

export const SCHEMA_STEPS: readonly SchemaStep[] = [...FROM_0, ...FROM_20, ...FROM_40];

/** The version of a database after all steps. */
export const SCHEMA_VERSION = SCHEMA_STEPS.length;

/**
 * Brings the tables to the newest step; running it again does nothing. The caller's transaction makes it atomic. Throws
 * on tables of a newer release.
 */
export const migrate = (sql: Sql, steps: readonly SchemaStep[] = SCHEMA_STEPS): void => {
  sql.exec("CREATE TABLE IF NOT EXISTS schema_steps (step INTEGER PRIMARY KEY)");
  const version = (scalar(sql, "SELECT MAX(step) FROM schema_steps") ?? -1) + 1;
  if (version > steps.length) {
    throw new Error(
      `this tenant's tables are of a newer release (schema ${version}, this one knows ${steps.length}): deploy that release again`,
    );
  }
  for (let step = version; step < steps.length; step += 1) {
    for (const statement of steps[step] ?? []) sql.exec(statement);
    sql.exec("INSERT INTO schema_steps (step) VALUES (?)", step);
  }
};
