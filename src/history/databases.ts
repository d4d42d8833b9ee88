// The databases that history lies in: the one of a tenant, and all of them for what is done for all tenants.

import {
  boundDatabases,
  type DatabaseUse,
  databaseOf,
  emptiestDatabase,
  levelOfFailure,
  MissingDatabase,
} from "../../domain/tenant/tenant-database.ts";
import { HISTORY_UNAVAILABLE } from "../../domain/words/refusal.ts";
import { log } from "../../log/log.ts";
import type { Env } from "../env.ts";
import { Refused } from "../http/refused.ts";
import { readHistory } from "./store.ts";
import { TenantHistory } from "./tenant-history.ts";

interface Placed {
  readonly tenant: string;
  /** As its object or its row in `DB` says; undefined until either was asked. */
  readonly database?: number;
}

/** The tenant's history. If its database is not bound, the answer is a refusal, and never another database. */
export const historyOf = (env: Env, { tenant, database }: Placed): TenantHistory => {
  if (database === undefined) throw new Error(`nobody was asked which database has the history of ${tenant}`);
  const found = databaseOf(env, database);
  if (found !== undefined) return new TenantHistory(found, tenant);
  const missing = new MissingDatabase(database);
  log(levelOfFailure(missing), "history.failed", { tenant, detail: missing.message });
  throw new Refused(HISTORY_UNAVAILABLE);
};

/** What each has. Rows of `DB` that only name a tenant of another database do not count. */
export const databaseUses = (env: Env): Promise<DatabaseUse[]> =>
  readHistory(() =>
    Promise.all(
      boundDatabases(env).map(async ({ number, database }) => {
        const { results, meta } = await database
          .prepare("SELECT count(*) AS tenants FROM tenants WHERE COALESCE(away, '') NOT GLOB 'DB*'")
          .all<{ tenants: number }>();
        return { number, bytes: meta.size_after, tenants: results[0]?.tenants ?? 0 };
      }),
    ),
  );

/** Where a new tenant goes. */
export const chooseDatabase = async (env: Env): Promise<number> =>
  boundDatabases(env).length === 1 ? 0 : emptiestDatabase(await databaseUses(env));
