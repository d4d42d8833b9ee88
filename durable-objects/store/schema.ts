// Brings the object's tables to this release.

import { SCHEMA_STEPS, type SchemaStep } from "./schema-steps.ts";
import { type Sql, scalar } from "./sql.ts";

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
