// Keys for providers that the coordinator calls itself, sealed: only the vault connector of `src/` can open one.

import { all, first, put, type Sql } from "../sql.ts";

interface ProviderKey {
  readonly provider: string;
  readonly sealed: string;
  readonly setAt: number;
  /** The name of the key with which it was set. */
  readonly setBy: string;
}

const COLUMNS = "provider, sealed, set_at AS setAt, set_by AS setBy";

export const providerKeysTable = (sql: Sql) => ({
  all: (): ProviderKey[] => all(sql, `SELECT ${COLUMNS} FROM provider_keys ORDER BY provider`),

  find: (provider: string): ProviderKey | null =>
    first(sql, `SELECT ${COLUMNS} FROM provider_keys WHERE provider = ?`, provider),

  put: ({ provider, sealed, setAt, setBy }: ProviderKey): void => {
    put(sql, "provider_keys", { provider, sealed, set_at: setAt, set_by: setBy });
  },

  remove: (provider: string): void => {
    sql.exec("DELETE FROM provider_keys WHERE provider = ?", provider);
  },
});
