// Subscriptions: a tenant's choice to follow a provider's model list. Written with their audit entry in one
// transaction. A stored subscription can run: its provider exists, its schedule fires, and its address may be fetched.

import type { Subscription } from "../../domain/catalog/catalog-subscription.ts";
import { parseCron } from "../../domain/schedule/cron.ts";
import type { Actor } from "../../domain/words/event.ts";
import { invalid, type RefusalOf } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import { auditStatement } from "../history/audit.ts";
import { TenantHistory } from "../history/tenant-history.ts";
import type { CatalogTools } from "./catalog-tools.ts";
import { countSubscriptions, getSubscription } from "./subscription-rows.ts";
import { scheduledAt } from "./sync.ts";
import { checkUrl } from "./url-policy.ts";

export const DEFAULT_SYNC_SCHEDULE = "0 */6 * * *";
export const MAX_SUBSCRIPTIONS_PER_TENANT = 500;

export interface NewSubscription {
  readonly provider: string;
  readonly models_sync_schedule?: string | null | undefined;
  readonly models_sync_url?: string | null | undefined;
}
type SubscriptionPatch = Omit<NewSubscription, "provider">;
type Invalid = RefusalOf<"invalid_request">;
type Exists = RefusalOf<"subscription_exists">;
type NotFound = RefusalOf<"not_found">;

/** Due at once, so the next minute's pass fetches its first list. */
export const createSubscription = async (
  tools: CatalogTools,
  tenant: string,
  actor: Actor,
  input: NewSubscription,
): Promise<Result<Subscription, Invalid | Exists>> => {
  const schedule = input.models_sync_schedule ?? DEFAULT_SYNC_SCHEDULE;
  const url = input.models_sync_url ?? null;
  const problem = checkSubscription(tools, input.provider, schedule, url);
  if (problem !== null) return err(problem);
  const history = new TenantHistory(tools.db, tenant);
  if ((await countSubscriptions(history)) >= MAX_SUBSCRIPTIONS_PER_TENANT) {
    return err(invalid("", `a tenant has at most ${MAX_SUBSCRIPTIONS_PER_TENANT} subscriptions: delete one first`));
  }
  const id = `sub_${crypto.randomUUID().replaceAll("-", "")}`;
  const at = tools.now();
  const insert = history.statement(
    `INSERT INTO catalog_subscriptions
       (tenant, id, provider, models_sync_schedule, models_sync_url, next_sync_at, created_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`,
    id,
    input.provider,
    schedule,
    url ?? "",
    at,
  );
  const detail = { provider: input.provider, models_sync_schedule: schedule, models_sync_url: shown(url) };
  const entry = { at, actor, action: "catalog.subscription_created", target: id, detail };
  const written = await writeOnce(history, [insert, auditStatement(history, entry)]);
  if (!written) return err({ code: "subscription_exists", provider: input.provider });
  return ok({
    id,
    provider: input.provider,
    modelsSyncSchedule: schedule,
    modelsSyncUrl: url,
    modelCount: 0,
    modelsSyncedAt: null,
    nextSyncAt: at,
    lastError: null,
    lastErrorAt: null,
    createdAt: at,
  });
};

/**
 * An absent field stays unchanged; null restores the default schedule or the provider's own address. With a new schedule
 * alone, a list that is up to date waits for it; else the next minute's pass fetches the list.
 */
export const patchSubscription = async (
  tools: CatalogTools,
  tenant: string,
  id: string,
  actor: Actor,
  patch: SubscriptionPatch,
): Promise<Result<Subscription, Invalid | Exists | NotFound>> => {
  const history = new TenantHistory(tools.db, tenant);
  const before = await getSubscription(history, id);
  if (!before.ok) return before;
  const old = before.value;
  const schedule =
    patch.models_sync_schedule === undefined
      ? old.modelsSyncSchedule
      : (patch.models_sync_schedule ?? DEFAULT_SYNC_SCHEDULE);
  const url = patch.models_sync_url === undefined ? old.modelsSyncUrl : patch.models_sync_url;
  if (schedule === old.modelsSyncSchedule && url === old.modelsSyncUrl) return before;
  const problem = checkSubscription(tools, old.provider, schedule, url);
  if (problem !== null) return err(problem);
  const at = tools.now();
  // What was due stays due: a new address may not have been asked yet.
  const isDue =
    url !== old.modelsSyncUrl || old.modelsSyncedAt === null || old.lastError !== null || old.nextSyncAt <= at;
  const update = history.statement(
    `UPDATE catalog_subscriptions
     SET models_sync_schedule = ?3, models_sync_url = ?4, next_sync_at = ?5, version = version + 1
     WHERE tenant = ?1 AND id = ?2`,
    id,
    schedule,
    url ?? "",
    isDue ? at : scheduledAt(schedule, id, at),
  );
  const detail = { models_sync_schedule: schedule, models_sync_url: shown(url) };
  const entry = { at, actor, action: "catalog.subscription_updated", target: id, detail };
  const written = await writeOnce(history, [update, auditStatement(history, entry)]);
  if (!written) return err({ code: "subscription_exists", provider: old.provider });
  return getSubscription(history, id);
};

/** Deletes its models and history, too. */
export const deleteSubscription = async (
  tools: CatalogTools,
  tenant: string,
  id: string,
  actor: Actor,
): Promise<Result<Subscription, NotFound>> => {
  const history = new TenantHistory(tools.db, tenant);
  const before = await getSubscription(history, id);
  if (!before.ok) return before;
  const remove = (table: string, column: string) =>
    history.statement(`DELETE FROM ${table} WHERE tenant = ?1 AND ${column} = ?2`, id);
  const detail = { provider: before.value.provider };
  await history.db.batch([
    remove("catalog_subscriptions", "id"),
    remove("catalog_models", "subscription_id"),
    remove("catalog_history", "subscription_id"),
    auditStatement(history, { at: tools.now(), actor, action: "catalog.subscription_deleted", target: id, detail }),
  ]);
  return before;
};

const checkSubscription = (tools: CatalogTools, name: string, schedule: string, url: string | null): Invalid | null => {
  const provider = tools.providers.get(name);
  if (provider === undefined) {
    return invalid("provider", `must be one of GET /catalog/providers: ${[...tools.providers.keys()].join(", ")}`);
  }
  const cron = parseCron(schedule);
  if (!cron.ok) return invalid("models_sync_schedule", cron.error);
  const problem = url === null ? null : checkUrl(url, provider.local);
  return problem === null ? null : invalid("models_sync_url", problem);
};

/** False if another subscription of the tenant already follows the same list. */
const writeOnce = async ({ db }: TenantHistory, statements: D1PreparedStatement[]): Promise<boolean> => {
  try {
    await db.batch(statements);
    return true;
  } catch (error) {
    if (error instanceof Error && /UNIQUE constraint failed: catalog_subscriptions/.test(error.message)) return false;
    throw error;
  }
};

/** For the audit log, without the query, which may contain the tenant's own key. */
const shown = (url: string | null): string | null => (url === null ? null : (url.split("?", 1)[0] ?? null));
