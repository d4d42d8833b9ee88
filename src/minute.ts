// The minute's work that belongs to no single tenant. Cloudflare gives one invocation 1,000 D1 queries and 10,000
// requests: each task has its own part, so none can take another's, and what does not fit waits a minute. A task does
// one database after another; each minute another one is the first.

import { isInShare, readShare } from "../domain/tenant/share.ts";
import { bindingOf, boundDatabases, MAX_DATABASES } from "../domain/tenant/tenant-database.ts";
import { Allowance, type Cost } from "../domain/words/allowance.ts";
import { DAY_MS, MINUTE_MS } from "../domain/words/duration.ts";
import { log } from "../log/log.ts";
import { isCatalogSyncOn, SYNC_WORST, syncDueSubscriptions } from "./catalog/due.ts";
import { pruneHistory } from "./catalog/models.ts";
import { openCatalog } from "./catalog/open.ts";
import { providerReport } from "./catalog/provider-report.ts";
import type { Env } from "./env.ts";
import { archiveOf } from "./history/archive/store.ts";
import { packTexts } from "./history/pack-texts.ts";
import { pruneJobs, pruneScheduleRuns, pruneTexts } from "./history/retention.ts";
import { TenantHistory } from "./history/tenant-history.ts";
import { MAX_OVERDUE, overdueTenants, tenantNamed } from "./history/tenants.ts";
import { meteredDatabase } from "./metered-database.ts";
import { askObject, tenantObject } from "./tenant/tenant-object.ts";

/** Limits of one invocation on the Paid plan. */
export const PLATFORM_LIMITS: Cost = { queries: 1_000, requests: 10_000 };

interface Task {
  readonly part: Cost;
  /** With less than this left it does not begin with another database. */
  readonly least: Cost;
  /** Does one database, which is `DB` of its `env`. */
  readonly run: (env: Env, allowance: Allowance) => Promise<void>;
}

/** An alarm this long overdue was lost, because the platform gives up after six failures. */
const OVERDUE_MS = 2 * 60_000;

/** An invocation has six connections. */
const WAKES_AT_A_TIME = 5;

const wakeOverdue = async (env: Env, allowance: Allowance): Promise<void> => {
  const share = readShare(env.SERVICE_SHARE);
  const all = await overdueTenants(env.DB, Date.now() - OVERDUE_MS);
  const overdue = all.filter(({ tenant }) => isInShare(tenant, share)).values();
  const wakeAll = async (): Promise<void> => {
    for (const tenant of overdue) {
      allowance.spendRequest();
      await tenantObject(env, tenant)
        .poke()
        .catch((error: unknown) => log("error", "tenant.unwoken", { tenant: tenant.tenant }, error));
    }
  };
  await Promise.all(Array.from({ length: WAKES_AT_A_TIME }, wakeAll));
};

/** Cost and the audit log are kept for ever, jobs as their tenant configures; changes of model lists are not. */
const CATALOG_HISTORY_KEPT_MS = 365 * DAY_MS;
const SCHEDULE_RUNS_KEPT_MS = 90 * DAY_MS;
/** Well below what one statement can delete; the next minute continues. */
const PRUNED_AT_A_TIME = 5_000;

/** A tenant's object, for a request to it. */
const objectsIn =
  (env: Env, allowance: Allowance): ((tenant: string) => Promise<ReturnType<typeof tenantObject>>) =>
  async (tenant) => {
    allowance.spendRequest();
    return tenantObject(env, await tenantNamed(env.DB, tenant));
  };

const prune = async (env: Env, allowance: Allowance): Promise<void> => {
  const nowAt = Date.now();
  await pruneHistory(env.DB, nowAt - CATALOG_HISTORY_KEPT_MS, PRUNED_AT_A_TIME);
  await pruneScheduleRuns(env.DB, nowAt - SCHEDULE_RUNS_KEPT_MS, PRUNED_AT_A_TIME);
  const share = readShare(env.SERVICE_SHARE);
  const isOurs = (tenant: string): boolean => isInShare(tenant, share);
  await pruneTexts(env.DB, nowAt, { allowance, isOurs });
  const objectOf = objectsIn(env, allowance);
  await pruneJobs(env.DB, nowAt, {
    allowance,
    archive: archiveOf(env),
    isOurs,
    onPruned: async (tenant, { pruned, archivedBytes }) => (await objectOf(tenant)).notePruned(pruned, archivedBytes),
    onTrouble: async (tenant, error) => {
      log("error", "archive.failed", { tenant, detail: "its old jobs stay in history" }, error.cause);
      await (await objectOf(tenant)).noteArchiveTrouble();
    },
  });
  await packTexts(env.DB, nowAt, { allowance, isOurs });
};

const syncCatalog = async (env: Env, allowance: Allowance): Promise<void> => {
  if (!isCatalogSyncOn(env.SERVICE_CATALOG_SYNC)) return;
  const share = readShare(env.SERVICE_SHARE);
  const spend = (): void => allowance.spendRequest();
  const objectOf = objectsIn(env, allowance);
  const sealedKeyOf = async (tenant: string, provider: string): Promise<string | null> =>
    (await objectOf(tenant)).sealedKey(provider);
  await syncDueSubscriptions({
    ...openCatalog(env, env.DB, Date.now, sealedKeyOf, spend),
    allowance,
    isOurs: (tenant) => isInShare(tenant, share),
    mayRun: async (tenant) => !(await (await objectOf(tenant)).isSyncHalted()),
    onChanged: async (tenant, report) => {
      spend();
      await askObject(
        env,
        await tenantNamed(env.DB, tenant),
        "learnCatalog",
        await providerReport(new TenantHistory(env.DB, tenant), report.provider),
      );
    },
  });
};

/** The queries of a task are also requests of it. */
export const MINUTE_TASKS = {
  wake: {
    run: wakeOverdue,
    part: { queries: MAX_DATABASES, requests: 2 * MAX_OVERDUE },
    least: { queries: 1, requests: MAX_OVERDUE + 1 },
  },
  sync: {
    run: syncCatalog,
    part: { queries: 734, requests: 8_900 },
    least: { queries: SYNC_WORST.queries + 1, requests: SYNC_WORST.requests + 1 },
  },
  prune: { run: prune, part: { queries: 250, requests: 300 }, least: { queries: 30, requests: 40 } },
} satisfies Record<string, Task>;

const beginningWith = <T>(index: number, all: readonly T[]): T[] => {
  const first = index % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
};

/** Returns what each task used. A failed task does not affect the others. */
export const runMinute = async (env: Env): Promise<Record<string, Cost>> => {
  const databases = beginningWith(Math.floor(Date.now() / MINUTE_MS), boundDatabases(env));
  const spent = Object.entries(MINUTE_TASKS).map(async ([name, { part, least, run }]): Promise<[string, Cost]> => {
    const allowance = new Allowance(part);
    for (const { number, database } of databases) {
      if (!allowance.hold(least)) break;
      allowance.release(least);
      const metered = { ...env, DB: meteredDatabase(database, allowance) };
      const what = number === 0 ? name : `${name} in ${bindingOf(number)}`;
      await run(metered, allowance).catch((error: unknown) => log("error", "minute.failed", { what }, error));
    }
    return [name, allowance.spent];
  });
  return Object.fromEntries(await Promise.all(spent));
};
