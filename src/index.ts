// The entry: requests to the app, the minute's cron to what belongs to no single tenant.

import { isInShare, readShare } from "../domain/share.ts";
import { app } from "./app.ts";
import { isCatalogSyncOn, syncDueSubscriptions } from "./catalog/due.ts";
import { pruneHistory } from "./catalog/models.ts";
import type { Env } from "./env.ts";
import { pruneJobs, pruneScheduleRuns } from "./history/retention.ts";
import { overdueTenants, tenantNamed } from "./history/tenants.ts";
import { isSyncHalted, tenantObject } from "./http/tenant.ts";
import { catalogTools, tellTenant } from "./routes/catalog.ts";

export { Relay } from "../durable-objects/relay.ts";
export { Tenant } from "../durable-objects/tenant.ts";
export { PrivateDoor } from "./private-door.ts";

/** An alarm this long overdue was lost: the platform gives one up after six failures. */
const OVERDUE_MS = 2 * 60_000;

/** Of the six connections that an invocation has. */
const WAKES_AT_A_TIME = 5;

const wakeOverdue = async (env: Env): Promise<void> => {
  const share = readShare(env.SERVICE_SHARE);
  const all = await overdueTenants(env.DB, Date.now() - OVERDUE_MS);
  const overdue = all.filter(({ tenant }) => isInShare(tenant, share)).values();
  const wakeAll = async (): Promise<void> => {
    for (const tenant of overdue) {
      await tenantObject(env, tenant)
        .poke()
        .catch((error: unknown) => console.error(`tenant ${tenant.tenant} could not be woken`, error));
    }
  };
  await Promise.all(Array.from({ length: WAKES_AT_A_TIME }, wakeAll));
};

/** Cost and the audit log are kept for ever, jobs as their tenant says; what only tells how a list changed is not. */
const CATALOG_HISTORY_KEPT_MS = 365 * 86_400_000;
const SCHEDULE_RUNS_KEPT_MS = 90 * 86_400_000;
/** Well below what one statement may take; the next minute goes on. */
const PRUNED_AT_A_TIME = 5_000;

const prune = async (env: Env): Promise<void> => {
  const nowAt = Date.now();
  await pruneHistory(env.DB, nowAt - CATALOG_HISTORY_KEPT_MS, PRUNED_AT_A_TIME);
  await pruneScheduleRuns(env.DB, nowAt - SCHEDULE_RUNS_KEPT_MS, PRUNED_AT_A_TIME);
  const share = readShare(env.SERVICE_SHARE);
  await pruneJobs(env.DB, nowAt, {
    isOurs: (tenant) => isInShare(tenant, share),
    onPruned: async (tenant, pruned) => tenantObject(env, await tenantNamed(env.DB, tenant)).notePruned(pruned),
  });
};

const syncCatalog = async (env: Env): Promise<void> => {
  if (!isCatalogSyncOn(env.SERVICE_CATALOG_SYNC)) return;
  const share = readShare(env.SERVICE_SHARE);
  await syncDueSubscriptions({
    ...catalogTools(env),
    isOurs: (tenant) => isInShare(tenant, share),
    mayRun: async (tenant) => !(await isSyncHalted(env, await tenantNamed(env.DB, tenant))),
    onChanged: async (tenant, report) => tellTenant(env, await tenantNamed(env.DB, tenant), report.provider),
  });
};

export default {
  fetch: app.fetch,

  async scheduled(_controller, env) {
    const done = await Promise.allSettled([wakeOverdue(env), syncCatalog(env), prune(env)]);
    for (const one of done) if (one.status === "rejected") console.error("the minute's work failed", one.reason);
  },
} satisfies ExportedHandler<Env>;
