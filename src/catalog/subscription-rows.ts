// Subscriptions as D1 holds them, read for a tenant.

import { and, count, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Subscription } from "../../domain/catalog-subscription.ts";
import { notFound, type RefusalOf } from "../../domain/refusal.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import { catalogSubscriptions } from "../../migrations/catalog.ts";
import { subscriptionColumns, toSubscription } from "./subscription.ts";

type NotFound = RefusalOf<"not_found">;

export async function getSubscription(
  db: D1Database,
  tenant: string,
  id: string,
): Promise<Result<Subscription, NotFound>> {
  const row = await drizzle(db)
    .select(subscriptionColumns)
    .from(catalogSubscriptions)
    .where(and(eq(catalogSubscriptions.tenant, tenant), eq(catalogSubscriptions.id, id)))
    .get();
  return row === undefined ? err(notFound("subscription", id)) : ok(toSubscription(row));
}

/** All of a tenant's, by provider; their number is bounded when they are created. */
export async function listSubscriptions(db: D1Database, tenant: string): Promise<Subscription[]> {
  const rows = await drizzle(db)
    .select(subscriptionColumns)
    .from(catalogSubscriptions)
    .where(eq(catalogSubscriptions.tenant, tenant))
    .orderBy(catalogSubscriptions.provider, catalogSubscriptions.createdAt, catalogSubscriptions.id);
  return rows.map(toSubscription);
}

export async function countSubscriptions(db: D1Database, tenant: string): Promise<number> {
  const where = eq(catalogSubscriptions.tenant, tenant);
  const row = await drizzle(db).select({ count: count() }).from(catalogSubscriptions).where(where).get();
  return row?.count ?? 0;
}
