// Keys for providers that the coordinator calls itself, sealed: only the vault connector of `src/` can open one.

import { all, first, put, type Sql } from "../sql.ts";

export interface ProviderKey {
  readonly provider: string;
  readonly sealed: string;
  readonly setAt: number;
  /** The name of the key with which it was set. */
  readonly setBy: string;
}

export const providerKeysTable = (sql: Sql) => ({
  all: (): ProviderKey[] => all(sql, "SELECT * FROM provider_keys ORDER BY provider").map(toKey),

  find: (provider: string): ProviderKey | null => {
    const row = first(sql, "SELECT * FROM provider_keys WHERE provider = ?", provider);
    return row === null ? null : toKey(row);
  },

  put: ({ provider, sealed, setAt, setBy }: ProviderKey): void => {
    put(sql, "provider_keys", { provider, sealed, set_at: setAt, set_by: setBy });
  },

  remove: (provider: string): void => {
    sql.exec("DELETE FROM provider_keys WHERE provider = ?", provider);
  },
});

const toKey = (row: Record<string, unknown>): ProviderKey => ({
  provider: row.provider as string,
  sealed: row.sealed as string,
  setAt: row.set_at as number,
  setBy: row.set_by as string,
});
