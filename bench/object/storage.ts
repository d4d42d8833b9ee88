// The object's storage on SQLite in memory, and a history that takes everything at once: what is measured is neither.

import { DatabaseSync, type StatementSync } from "node:sqlite";

type SqlValue = string | number | null;
type Row = Record<string, SqlValue>;

interface Prepared {
  readonly statement: StatementSync;
  readonly isRead: boolean;
}

/** What the object has of its storage (`durable-objects/store/sql.ts`). */
export class MemoryStorage {
  readonly #database = new DatabaseSync(":memory:");
  readonly #prepared = new Map<string, Prepared>();
  #alarm: ReturnType<typeof setTimeout> | undefined;
  #alarmAt: number | null = null;
  onAlarm: () => void = () => {};

  readonly sql = {
    databaseSize: 0,
    exec: (query: string, ...bindings: SqlValue[]): { toArray(): Row[] } => {
      const { statement, isRead } = this.#prepared.get(query) ?? this.#prepare(query);
      if (isRead) {
        const rows = statement.all(...bindings) as Row[];
        return { toArray: () => rows };
      }
      statement.run(...bindings);
      return { toArray: () => [] };
    },
  };

  #prepare(query: string): Prepared {
    const statement = this.#database.prepare(query);
    const prepared = { statement, isRead: statement.columns().length > 0 };
    this.#prepared.set(query, prepared);
    return prepared;
  }

  transactionSync<T>(work: () => T): T {
    this.#database.exec("SAVEPOINT turns");
    try {
      const done = work();
      this.#database.exec("RELEASE turns");
      return done;
    } catch (error) {
      this.#database.exec("ROLLBACK TO turns; RELEASE turns");
      throw error;
    }
  }

  async setAlarm(at: number): Promise<void> {
    clearTimeout(this.#alarm);
    this.#alarmAt = at;
    const ring = (): void => {
      this.#alarmAt = null;
      this.onAlarm();
    };
    this.#alarm = setTimeout(ring, Math.max(0, at - Date.now()));
  }

  async getAlarm(): Promise<number | null> {
    return this.#alarmAt;
  }

  async deleteAlarm(): Promise<void> {
    clearTimeout(this.#alarm);
    this.#alarmAt = null;
  }
}

export const TAKES_ALL = {
  prepare: () => ({ bind: (...values: SqlValue[]) => values }),
  batch: async (statements: readonly unknown[]) => statements.map(() => ({ meta: { rows_written: 0, size_after: 0 } })),
};
