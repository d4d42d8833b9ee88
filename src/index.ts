// The entry: requests to the app, the minute's cron to what belongs to no single tenant.

import { app } from "./app.ts";
import { isCatalogSyncOn, syncDueSubscriptions } from "./catalog/due.ts";
import type { Env } from "./env.ts";
import { overdueTenants, tenantNamed } from "./history/administration.ts";
import { isSyncHalted, tenantObject } from "./http/tenant.ts";
import { catalogTools, tellTenant } from "./routes/catalog.ts";

export { Tenant } from "../durable-objects/tenant.ts";

/** An alarm this long overdue was lost: the platform gives one up after six failures. */
const OVERDUE_MS = 2 * 60_000;

const wakeOverdue = async (env: Env): Promise<void> => {
  const overdue = await overdueTenants(env.DB, Date.now() - OVERDUE_MS);
  for (const tenant of overdue) {
    await tenantObject(env, tenant)
      .poke()
      .catch((error: unknown) => console.error(`tenant ${tenant.tenant} could not be woken`, error));
  }
};

const syncCatalog = async (env: Env): Promise<void> => {
  if (!isCatalogSyncOn(env.SERVICE_CATALOG_SYNC)) return;
  await syncDueSubscriptions({
    ...catalogTools(env),
    mayRun: async (tenant) => !(await isSyncHalted(env, await tenantNamed(env.DB, tenant))),
    onChanged: async (tenant, report) => tellTenant(env, await tenantNamed(env.DB, tenant), report),
  });
};

export default {
  fetch: app.fetch,

  async scheduled(_controller, env) {
    const done = await Promise.allSettled([wakeOverdue(env), syncCatalog(env)]);
    for (const one of done) if (one.status === "rejected") console.error("the minute's work failed", one.reason);
  },
} satisfies ExportedHandler<Env>;
