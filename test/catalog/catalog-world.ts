// A catalog on the real D1, with a provider whose answers the test sets and a clock that it controls. Each world has
// its own tenants, so tests share a database without seeing each other.

import { env } from "cloudflare:workers";
import type { Subscription } from "../../domain/catalog/catalog-subscription.ts";
import type { Actor } from "../../domain/words/event.ts";
import { loadProviders } from "../../src/catalog/providers.ts";
import { getSubscription } from "../../src/catalog/subscription-rows.ts";
import { createSubscription, type NewSubscription } from "../../src/catalog/subscriptions.ts";
import type { SyncTools } from "../../src/catalog/sync.ts";
import { vaultConnector } from "../../src/catalog/vault/connector.ts";
import { environmentSecrets } from "../../src/catalog/vault/environment.ts";
import { TenantHistory } from "../../src/history/tenant-history.ts";
import { ACME_KEY, type Answer, acme, json, modelRows } from "./fake-provider.ts";

export const ANA: Actor = { keyId: "k1", name: "ana" };
const NOON = Date.UTC(2026, 10, 21, 12);

interface AuditLine {
  readonly tenant: string;
  readonly action: string;
  readonly actor: string;
  readonly target: string;
  readonly detail: Record<string, unknown>;
}

export interface CatalogWorld {
  readonly db: D1Database;
  readonly history: TenantHistory;
  readonly tenant: string;
  readonly tools: SyncTools;
  readonly clock: { now: number };
  readonly requests: Request[];
  answer: Answer;
  lists(...ids: string[]): void;
  subscribe(input?: Partial<NewSubscription>, tenant?: string): Promise<Subscription>;
  see(id: string): Promise<Subscription>;
  audit(): Promise<AuditLine[]>;
}

export async function catalogWorld(): Promise<CatalogWorld> {
  const db = (env as unknown as { DB: D1Database }).DB;
  const tenant = `t-${crypto.randomUUID()}`;
  const history = new TenantHistory(db, tenant);
  const clock = { now: NOON };
  const requests: Request[] = [];
  const fetch = async (request: Request) => {
    requests.push(request);
    return world.answer(request);
  };
  const source = environmentSecrets({ PROVIDER_ACME_KEY: ACME_KEY });
  const tools: SyncTools = {
    db,
    providers: new Map([...loadProviders(), ["acme", acme]]),
    now: () => clock.now,
    connectorOf: () => vaultConnector({ source, fetch, now: () => clock.now }),
  };
  const world: CatalogWorld = {
    db,
    history,
    tenant,
    tools,
    clock,
    requests,
    answer: () => json({ data: [] }),
    lists: (...ids) => {
      world.answer = () => json(modelRows(...ids));
    },
    subscribe: async (input = {}, owner = tenant) => {
      const created = await createSubscription(tools, owner, ANA, { provider: "acme", ...input });
      if (!created.ok) throw new Error(JSON.stringify(created.error));
      return created.value;
    },
    see: async (id) => {
      const found = await getSubscription(history, id);
      if (!found.ok) throw new Error(`no subscription ${id}`);
      return found.value;
    },
    audit: async () => {
      const { results } = await history
        .statement(
          "SELECT tenant, action, actor_name AS actor, target, detail FROM audit WHERE tenant = ?1 ORDER BY rowid",
        )
        .all<AuditLine & { detail: string }>();
      return results.map((line) => ({ ...line, detail: JSON.parse(line.detail) as AuditLine["detail"] }));
    },
  };
  return world;
}
