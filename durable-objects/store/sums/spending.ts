// What the tenant has spent, by day and provider.

import type { SpentOnDay } from "../../../domain/money/spending.ts";
import { all, type Sql, scalar } from "../sql.ts";

export const spendingTable = (sql: Sql) => ({
  add: ({ dayAt, provider, nanoUsd }: SpentOnDay): void => {
    sql.exec(
      `INSERT INTO spending (day_at, provider, nano_usd) VALUES (?1, ?2, ?3)
       ON CONFLICT (day_at, provider) DO UPDATE SET nano_usd = nano_usd + ?3`,
      dayAt,
      provider,
      nanoUsd,
    );
  },

  since: (dayAt: number): SpentOnDay[] =>
    all(sql, "SELECT day_at AS dayAt, provider, nano_usd AS nanoUsd FROM spending WHERE day_at >= ?", dayAt),

  oldestDayAt: (): number | null => scalar(sql, "SELECT MIN(day_at) FROM spending"),

  removeBefore: (dayAt: number): void => {
    sql.exec("DELETE FROM spending WHERE day_at < ?", dayAt);
  },
});
