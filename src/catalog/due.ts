// The cron's pass over the catalog: subscriptions that are due, longest overdue first, a bounded number, a few at a
// time. The next pass continues. A failed sync goes behind those that have waited longer, so none starves.

import type { SyncReport } from "../../domain/catalog/catalog-subscription.ts";
import type { Allowance, Cost } from "../../domain/words/allowance.ts";
import { log } from "../../log/log.ts";
import { isHere } from "../history/is-here.ts";
import { type SyncTools, syncSubscription } from "./sync.ts";

/** An unchanged list costs five of the thousand queries that an invocation has. */
const DUE_MAX_PER_PASS = 160;
/**
 * The most that one sync may ask: every model of the longest list removed or replaced, the lease lost at the end, every
 * page fetched separately, the key read from a vault.
 */
export const SYNC_WORST: Cost = { queries: 40, requests: 100 };
/** An invocation has six connections; each may hold a whole answer in memory. */
export const DUE_CONCURRENCY = 4;
/** No sync begins later than this in a pass; the next pass continues. */
export const DUE_BEGIN_WITHIN_MS = 45_000;
/** How long a halted tenant's subscriptions are postponed. */
export const HALTED_FOR_MS = 5 * 60_000;

interface DueTools extends SyncTools {
  /** False leaves the tenant's subscriptions to another process. */
  readonly isOurs?: (tenant: string) => boolean;
  /** False postpones the tenant's subscriptions (killswitch level 4, or it is moving). */
  readonly mayRun?: (tenant: string) => Promise<boolean>;
  /** Called after each sync that changed something, to send a live event and flag references to removed models. */
  readonly onChanged?: (tenant: string, report: SyncReport) => Promise<void>;
  /** When it is used up, the rest waits for the next pass. */
  readonly allowance?: Allowance;
  readonly maxPerPass?: number;
  readonly concurrency?: number;
}

interface DueReport {
  readonly synced: number;
  readonly changed: number;
  readonly failed: number;
  /** Postponed, taken by another pass, or not begun in time. */
  readonly left: number;
}

/** SERVICE_CATALOG_SYNC=0 turns the pass off; forced syncs still work. */
export const isCatalogSyncOn = (setting: string | undefined): boolean => setting?.trim() !== "0";

export const syncDueSubscriptions = async (tools: DueTools): Promise<DueReport> => {
  const startedAt = tools.now();
  const due = await dueSubscriptions(tools.db, startedAt, tools.maxPerPass ?? DUE_MAX_PER_PASS);
  const mayRun = rememberPerTenant(tools.mayRun);
  const tally = { synced: 0, changed: 0, failed: 0, left: 0 };
  const queue = due.values();
  const drain = async (): Promise<void> => {
    for (const { tenant, id } of queue) {
      if (tools.isOurs?.(tenant) === false) continue;
      if (tools.now() - startedAt >= DUE_BEGIN_WITHIN_MS || tools.allowance?.hold(SYNC_WORST) === false) tally.left++;
      else {
        tally[await syncOne(tools, mayRun, tenant, id)]++;
        tools.allowance?.release(SYNC_WORST);
      }
    }
  };
  await Promise.all(Array.from({ length: tools.concurrency ?? DUE_CONCURRENCY }, drain));
  return { ...tally, synced: tally.synced + tally.changed };
};

/** Never throws: one subscription's failure must not affect the others. */
const syncOne = async (
  tools: DueTools,
  mayRun: (tenant: string) => Promise<boolean>,
  tenant: string,
  id: string,
): Promise<"synced" | "changed" | "failed" | "left"> => {
  try {
    if (!(await mayRun(tenant))) {
      await putOff(tools, tenant, id);
      return "left";
    }
    const result = await syncSubscription(tools, tenant, id, undefined, { mustBeDue: true });
    if (!result.ok) return result.error.code === "provider_failed" ? "failed" : "left";
    const { isChanged, repriced } = result.value;
    if (isChanged || repriced.length > 0) await tellOfChange(tools, tenant, result.value);
    return isChanged ? "changed" : "synced";
  } catch (error) {
    logTrouble("catalog.sync_failed", tenant, id, error);
    return "failed";
  }
};

/** The change is already stored, so a listener's failure does not undo it. */
const tellOfChange = async (tools: DueTools, tenant: string, report: SyncReport): Promise<void> => {
  try {
    await tools.onChanged?.(tenant, report);
  } catch (error) {
    logTrouble("catalog.untold", tenant, report.subscriptionId, error);
  }
};

const logTrouble = (event: string, tenant: string, id: string, error: unknown): void => {
  log("error", event, { tenant, target: id }, error);
};

const dueSubscriptions = async (
  db: D1Database,
  nowAt: number,
  limit: number,
): Promise<{ tenant: string; id: string }[]> => {
  const { results } = await db
    .prepare(
      `SELECT tenant, id FROM catalog_subscriptions WHERE next_sync_at <= ?1 AND ${isHere("catalog_subscriptions.tenant")} ORDER BY next_sync_at LIMIT ?2`,
    )
    .bind(nowAt, limit)
    .all<{ tenant: string; id: string }>();
  return results;
};

const putOff = async (tools: DueTools, tenant: string, id: string): Promise<void> => {
  await tools.db
    .prepare("UPDATE catalog_subscriptions SET next_sync_at = ?3 WHERE tenant = ?1 AND id = ?2 AND next_sync_at < ?3")
    .bind(tenant, id, tools.now() + HALTED_FOR_MS)
    .run();
};

const rememberPerTenant = (ask: DueTools["mayRun"]): ((tenant: string) => Promise<boolean>) => {
  const answers = new Map<string, Promise<boolean>>();
  return (tenant) => {
    const answer = answers.get(tenant) ?? ask?.(tenant) ?? Promise.resolve(true);
    answers.set(tenant, answer);
    return answer;
  };
};
