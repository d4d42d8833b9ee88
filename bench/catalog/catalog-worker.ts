// The edge's part of the catalog benchmark: the real passes on the real D1, against a provider on the loopback
// interface.

import type { ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { syncDueSubscriptions } from "../../src/catalog/due.ts";
import { vaultConnector } from "../../src/catalog/vault/connector.ts";
import { environmentSecrets } from "../../src/catalog/vault/environment.ts";

interface Env {
  DB: D1Database;
  PROVIDER_URL: string;
}

const SEED = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
  INSERT INTO catalog_subscriptions (tenant, id, provider, models_sync_schedule, models_sync_url, next_sync_at, created_at)
  SELECT 'tenant-' || (i % 50), 'sub_' || i, 'bench', '0 */6 * * *', ?2 || '?subscription=' || i, i, 0 FROM n`;

export default {
  fetch: async (request: Request, env: Env): Promise<Response> => {
    const url = new URL(request.url);
    const count = Number(url.searchParams.get("count"));
    if (url.pathname === "/schema") {
      await env.DB.batch((await request.json<string[]>()).map((statement) => env.DB.prepare(statement)));
      return Response.json({});
    }
    if (url.pathname === "/seed") {
      await env.DB.prepare(SEED).bind(count, env.PROVIDER_URL).run();
      return Response.json({});
    }
    if (url.pathname === "/due") {
      await env.DB.prepare("UPDATE catalog_subscriptions SET next_sync_at = rowid").run();
      return Response.json({});
    }
    return Response.json(await syncDueSubscriptions(toolsOf(env, count)));
  },
};

const toolsOf = (env: Env, maxPerPass: number) => {
  const provider: ProviderDefinition = {
    provider: "bench",
    list_url: env.PROVIDER_URL,
    method: "GET",
    local: true,
    response_path: "data[]",
    fields: { id: "id", name: "name", context_window: "context" },
  };
  const now = () => Date.now();
  const connector = vaultConnector({ source: environmentSecrets({}), fetch: (message) => fetch(message), now });
  return {
    db: env.DB,
    providers: new Map([["bench", provider]]),
    now,
    audit: () => env.DB.prepare("SELECT 1"),
    connectorOf: () => connector,
    maxPerPass,
  };
};
