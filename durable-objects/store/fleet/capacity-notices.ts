// Requirement groups for which webhooks were told that capacity is wanted, and when; repeated while it lasts.

import { all, put, type Sql } from "../sql.ts";

export const capacityNoticesTable = (sql: Sql) => ({
  all: (): Map<string, number> =>
    new Map(
      all<{ groupKey: string; at: number }>(sql, "SELECT group_key AS groupKey, at FROM capacity_notices").map(
        ({ groupKey, at }) => [groupKey, at],
      ),
    ),

  put: (groupKey: string, at: number): void => {
    put(sql, "capacity_notices", { group_key: groupKey, at });
  },

  remove: (groupKey: string): void => {
    sql.exec("DELETE FROM capacity_notices WHERE group_key = ?", groupKey);
  },
});
