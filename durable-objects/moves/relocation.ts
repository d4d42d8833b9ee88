// A tenant's move to another deployment: the source halts and gives out its rows, the target stores them and serves the
// tenant once all have arrived. Every step may be repeated. The rules are in `moving.ts`.

import type { PageRequest, TablePage, TableRows } from "../../domain/tenant/moved-rows.ts";
import { HISTORY_UNAVAILABLE, invalid, type Refusal } from "../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../domain/words/result.ts";
import type { TurnRunner } from "../calls/turn-runner.ts";
import type { Sockets } from "../sockets/sockets.ts";
import type { Store } from "../store/open.ts";
import { SCHEMA_VERSION } from "../store/schema/schema.ts";
import type { TenantStorage } from "../store/sql.ts";
import { clearTables, isEmpty, movingTables, readTable, writeTable } from "../store/table-rows.ts";
import type { Caller } from "../turn/turn.ts";
import { endLeaving, type Leaving, leave, settleIn, stay } from "./moving.ts";

const NO_SUCH_TABLE = invalid("table", "is not a table that moves");
const NOT_MOVING = invalid("", "this tenant is served here: begin with POST /admin/tenants/<tenant>/move");
const NO_SUCH_KEY = invalid("from", "is no key of this table: give the `next` of the part before");

interface RelocationParts {
  readonly tenant: string;
  readonly operator: Caller;
  readonly storage: TenantStorage;
  readonly store: Store;
  readonly sockets: Pick<Sockets, "endAll">;
  readonly turns: TurnRunner;
  /** Wakes every request that waits in the object. */
  readonly wakeAll: () => void;
  /** False while history is away. */
  readonly flush: () => Promise<boolean>;
}

export interface Arrival {
  readonly move: string;
  readonly schema: number;
  /** False if history has a tenant of this name that does not arrive: it may have been made without an object yet. */
  readonly isExpected: boolean;
  /** The number of the database that its history gets here. */
  readonly database: number;
}

export class Relocation {
  readonly #parts: RelocationParts;

  constructor(parts: RelocationParts) {
    this.#parts = parts;
  }

  /** Halts the tenant, whose rows do not change from then on. Returns what there is to copy, once history has it all. */
  async leave(to: string): Promise<Result<Leaving, Refusal>> {
    const { operator, storage, sockets, turns, wakeAll, flush } = this.#parts;
    const move = await turns.relocate(operator, (turn) => leave(turn, to));
    if (!move.ok) return move;
    sockets.endAll("moves");
    wakeAll();
    if (!(await flush())) return err(HISTORY_UNAVAILABLE);
    return ok({ move: move.value, schema: SCHEMA_VERSION, tables: movingTables(storage.sql) });
  }

  /** Everything has arrived at the target: from now on callers get its address. */
  async endLeaving(): Promise<Result<null, Refusal>> {
    const { operator, turns, flush } = this.#parts;
    const ended = await turns.relocate(operator, endLeaving);
    // The state in history is for retention only, which treats a tenant that leaves in the same way.
    if (ended.ok) await flush();
    return ended;
  }

  /** Cancels the move. */
  async stay(): Promise<Result<null, Refusal>> {
    const { operator, turns } = this.#parts;
    const stayed = await turns.relocate(operator, stay);
    // What ended meanwhile was announced to no one: memory still has it.
    if (stayed.ok) turns.rebuild();
    return stayed;
  }

  /** Only while nothing changes the rows. */
  async readTable(request: PageRequest): Promise<Result<TablePage, Refusal>> {
    const { storage, store, turns } = this.#parts;
    if (!movingTables(storage.sql).includes(request.table)) return err(NO_SUCH_TABLE);
    return turns.run((): Result<TablePage, Refusal> => {
      if (store.settings.absence() === null) return err(NOT_MOVING);
      const page = readTable(storage.sql, request);
      return page === null ? err(NO_SUCH_KEY) : ok(page);
    });
  }

  /**
   * Prepares for a tenant whose tables have this release's schema, and removes what an interrupted try has brought. A
   * tenant that this move has brought already is `arrived`.
   */
  async makeRoom({ move, schema, isExpected, database }: Arrival): Promise<Result<"arriving" | "arrived", Refusal>> {
    const { tenant, storage, store, turns } = this.#parts;
    const made = await turns.run((): Result<"arriving" | "arrived", Refusal> => {
      const { settings } = store;
      const absence = settings.absence();
      if (absence === null && settings.arrivedMove() === move) return ok("arrived");
      const isFree = absence?.state === "arriving" || (absence === null && isExpected && isEmpty(storage.sql));
      if (!isFree) return err({ code: "tenant_exists", tenant });
      const says = `is ${schema}, but this release has ${SCHEMA_VERSION}: both deployments must run the same release`;
      if (schema !== SCHEMA_VERSION) return err(invalid("schema", says));
      clearTables(storage.sql);
      settings.putAbsence({ state: "arriving", move });
      settings.putHistoryPlace({ at: database, to: null, move: 0 });
      return ok("arriving");
    });
    turns.forget();
    return made;
  }

  /** Writes rows of an arriving tenant; refused for any other. */
  async writeTable(table: string, part: TableRows): Promise<Result<null, Refusal>> {
    const { tenant, storage, store, turns } = this.#parts;
    if (!movingTables(storage.sql).includes(table)) return err(NO_SUCH_TABLE);
    const written = await turns.run((): Result<null, Refusal> => {
      if (store.settings.absence()?.state !== "arriving") return err({ code: "tenant_exists", tenant });
      writeTable(storage.sql, table, part);
      return ok(null);
    });
    // Memory was built from the rows before and is out of date.
    turns.forget();
    return written;
  }

  /** All rows have arrived. */
  async settleIn(origin: string): Promise<Result<null, Refusal>> {
    const { operator, turns, flush } = this.#parts;
    const settled = await turns.relocate(operator, (turn) => settleIn(turn, origin));
    // History learns of it with this flush, or with the next.
    if (settled.ok) await flush();
    return settled;
  }
}
