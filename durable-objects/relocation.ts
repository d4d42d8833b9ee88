// A tenant's move to another deployment: the source halts and gives out its rows, the target stores them and serves the
// tenant once all have arrived. The rules are in `operations/moving.ts`.

import type { TablePage, TableRows } from "../domain/moved-rows.ts";
import { invalid, type Refusal } from "../domain/refusal.ts";
import { err, ok, type Result } from "../domain/result.ts";
import { ARRIVING, type Departure, leave, settleIn, stay } from "./operations/moving.ts";
import type { Caller } from "./operations/turn.ts";
import type { Sockets } from "./sockets.ts";
import type { Store } from "./store/open.ts";
import { SCHEMA_VERSION } from "./store/schema.ts";
import type { TenantStorage } from "./store/sql.ts";
import { isEmpty, movingTables, readTable, writeTable } from "./store/table-rows.ts";
import type { TurnRunner } from "./turn-runner.ts";

const NO_SUCH_TABLE = invalid("table", "is not a table that moves");
const HISTORY_RETRY_SECONDS = 5;

interface RelocationParts {
  readonly tenant: string;
  readonly operator: Caller;
  readonly storage: TenantStorage;
  readonly store: Store;
  readonly sockets: Pick<Sockets, "endAll">;
  readonly turns: TurnRunner;
  readonly drain: () => Promise<boolean>;
}

export class Relocation {
  readonly #parts: RelocationParts;

  constructor(parts: RelocationParts) {
    this.#parts = parts;
  }

  /** Halts the tenant, whose rows do not change from then on. Returns what there is to copy. */
  async leave(to: string): Promise<Result<Departure, Refusal>> {
    const { operator, storage, sockets, turns, drain } = this.#parts;
    const left = await turns.decide(operator, (turn) => leave(turn, to));
    if (!left.ok) return left;
    if (!(await drain())) return err({ code: "history_unavailable", retryAfterSeconds: HISTORY_RETRY_SECONDS });
    sockets.endAll();
    return ok({ schema: SCHEMA_VERSION, tables: movingTables(storage.sql) });
  }

  /** Cancels the move. */
  stay(): Promise<Result<null, Refusal>> {
    return this.#parts.turns.decide(this.#parts.operator, stay);
  }

  async readTable(table: string, from: number, maxChars: number): Promise<Result<TablePage, Refusal>> {
    const { storage, turns } = this.#parts;
    if (!movingTables(storage.sql).includes(table)) return err(NO_SUCH_TABLE);
    return turns.run(() => ok(readTable(storage.sql, table, from, maxChars)));
  }

  /** Prepares for a tenant whose tables have this release's schema. */
  async makeRoom(schema: number): Promise<Result<null, Refusal>> {
    const { tenant, storage } = this.#parts;
    if (!isEmpty(storage.sql)) return err({ code: "tenant_exists", tenant });
    const says = `is ${schema}, but this release has ${SCHEMA_VERSION}: both deployments must run the same release`;
    return schema === SCHEMA_VERSION ? ok(null) : err(invalid("schema", says));
  }

  /** Writes rows of an arriving tenant; refused for a tenant that is already served here. */
  async writeTable(table: string, part: TableRows): Promise<Result<null, Refusal>> {
    const { tenant, storage, store, turns } = this.#parts;
    if (!movingTables(storage.sql).includes(table)) return err(NO_SUCH_TABLE);
    const written = await turns.run((): Result<null, Refusal> => {
      const isArriving = store.settings.movedTo() === ARRIVING;
      if (!isArriving && !isEmpty(storage.sql)) return err({ code: "tenant_exists", tenant });
      writeTable(storage.sql, table, part);
      store.settings.putMovedTo(ARRIVING);
      return ok(null);
    });
    // Memory was built from the rows before and is out of date.
    turns.forget();
    return written;
  }

  /** All rows have arrived. */
  async settleIn(): Promise<Result<null, Refusal>> {
    const settled = await this.#parts.turns.decide(this.#parts.operator, settleIn);
    if (settled.ok) await this.#parts.drain();
    return settled;
  }
}
