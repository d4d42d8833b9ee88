// The tables of history with a tenant's data, each with the columns of its primary key, because not every table has row
// ids. The type makes the list complete, and a test compares the keys with the schema.

import type * as schema from "../../migrations/schema.ts";

type Schema = typeof schema;
type TenantTable = {
  [Name in keyof Schema]: Schema[Name] extends { tenant: unknown; _: { name: infer Table extends string } }
    ? Table
    : never;
}[keyof Schema];

/** `tenants` comes last, so that an interrupted deletion can be repeated. */
export const TENANT_TABLES = {
  archive_parts: "tenant, day, name",
  attempts: "tenant, job_id, lease",
  audit: "tenant, id",
  catalog_history: "tenant, subscription_id, seq",
  catalog_models: "tenant, subscription_id, model_id",
  catalog_subscriptions: "tenant, id",
  cost_by_hours: "tenant, name, hour_at, value",
  cost_hours: "tenant, hour_at, provider, model",
  events: "tenant, job_id, version",
  jobs: "seq",
  payloads: "tenant, job_id",
  results: "tenant, job_id",
  schedule_runs: "tenant, schedule, id",
  tenants: "tenant",
} as const satisfies Record<TenantTable, string>;
