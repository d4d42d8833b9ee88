// D1 on node:sqlite with the real migrations. A batch is one transaction; its answer comes when the simulation allows:
// at once, late, never, or with an error although it was committed. A batch in transit outlives the object that sent
// it.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { STATEMENT_ROOM } from "../../../durable-objects/history/statements.ts";
import type { Row, SqlValue } from "../../../durable-objects/store/sql.ts";
import { Database } from "./database.ts";
import { isWithinLimits, SimulatedFault } from "./disk.ts";

const MIGRATIONS = path.resolve(import.meta.dirname, "../../../migrations");

const schema = readdirSync(MIGRATIONS)
  .filter((name) => name.endsWith(".sql"))
  .sort()
  .map((name) => readFileSync(path.join(MIGRATIONS, name), "utf8").replaceAll("--> statement-breakpoint", ""))
  .join("\n");

const NEIGHBOUR = "neighbour";
/** Everything derived from these is filled by triggers. */
const COPIED = ["tenants", "jobs", "payloads", "results", "events", "attempts", "audit", "schedule_runs"] as const;

interface Statement {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

interface Batch {
  readonly statements: readonly Statement[];
  readonly resolve: (rows: unknown[]) => void;
  readonly reject: (error: Error) => void;
}

export type Weather = "fine" | "slow" | "down" | "answer lost";

const migrated = (): Database => {
  const db = new Database();
  db.exec(schema);
  return db;
};

const spare: Database[] = [];

/** The statements that write a job, its payload or its result, and where the ids are: in a list of rows, or alone. */
const JOB_ROWS = /^INSERT INTO (?:jobs|payloads|results)\b/;
const LISTED = /json_each\(\?2\)/;

/** Besides the rows themselves. */
const COMMAS_SHARE = 1.1;

/** A list has as much as its room takes, or one row. */
const isOverfull = (text: string): boolean =>
  text.length > STATEMENT_ROOM.chars * COMMAS_SHARE && (JSON.parse(text) as unknown[]).length > 1;

const isTaken = ({ sql, values }: Statement): boolean =>
  isWithinLimits(values) && !(LISTED.test(sql) && isOverfull(values[1] as string));

export class History {
  readonly #db = spare.pop() ?? migrated();
  #touched = new Set<string>();
  weather: Weather = "fine";
  appliedCount = 0;
  #neighbours: string | null = null;
  /** Batches whose sender waits for an answer. */
  #waiting: Batch[] = [];
  /** Batches in transit whose sender has crashed. */
  #stray: Batch[] = [];

  constructor() {
    this.#db.beginRun();
  }

  /** The jobs whose rows were written since the last call. */
  takeTouched(): ReadonlySet<string> {
    const touched = this.#touched;
    if (touched.size > 0) this.#touched = new Set();
    return touched;
  }

  /** The part of the D1 binding that the object uses. */
  readonly binding = {
    prepare: (sql: string) => ({
      bind: (...values: SqlValue[]): Statement & { all: () => Promise<{ results: Row[] }> } => ({
        sql,
        values,
        all: () => this.#read(sql, values),
      }),
    }),
    batch: (statements: readonly Statement[]): Promise<unknown[]> =>
      new Promise((resolve, reject) => this.#waiting.push({ statements, resolve, reject })),
  };

  /** At once, or not at all. */
  async #read(sql: string, values: readonly SqlValue[]): Promise<{ results: Row[] }> {
    if (this.weather !== "fine") throw new SimulatedFault("D1 is away");
    return { results: this.rows(sql, ...values) };
  }

  get isBusy(): boolean {
    return this.#waiting.length > 0;
  }

  rows(query: string, ...bindings: SqlValue[]): Row[] {
    return this.#db.rows(query, ...bindings);
  }

  /** Answers waiting batches as the current weather says; slow answers none. */
  answer(weather: Weather = this.weather): void {
    if (weather === "slow") return;
    for (const batch of this.#waiting.splice(0)) {
      if (weather === "down") batch.reject(new SimulatedFault("D1 is away"));
      else if (!batch.statements.every(isTaken)) batch.reject(new Error("the platform takes no such statement"));
      else {
        this.#apply(batch);
        if (weather === "fine") batch.resolve([]);
        else batch.reject(new SimulatedFault("the answer was lost"));
      }
    }
  }

  /** The sender crashed. */
  orphan(): void {
    this.#stray.push(...this.#waiting.splice(0));
  }

  /** A batch of a former sender arrives late, or never. */
  land(arrives: boolean): void {
    const batch = this.#stray.shift();
    if (batch !== undefined && arrives) this.#apply(batch);
  }

  /** Adds another tenant with the same content under the same ids. */
  addNeighbour(tenant: string): void {
    if (this.#neighbours !== null) return;
    for (const table of COPIED) {
      const columns = this.rows(`SELECT name FROM pragma_table_info('${table}') WHERE name NOT IN ('tenant', 'seq')`)
        .map(({ name }) => name)
        .join(", ");
      this.rows(
        `INSERT INTO ${table} (tenant, ${columns}) SELECT '${NEIGHBOUR}', ${columns} FROM ${table} WHERE tenant = ?`,
        tenant,
      );
    }
    this.#neighbours = this.#neighboursRows();
  }

  /** Nobody writes for it, so it must not change. */
  get isNeighbourUntouched(): boolean {
    return this.#neighbours === null || this.#neighbours === this.#neighboursRows();
  }

  #neighboursRows(): string {
    const tables = [...COPIED, "cost_hours"];
    return JSON.stringify(tables.map((table) => this.rows(`SELECT * FROM ${table} WHERE tenant = '${NEIGHBOUR}'`)));
  }

  /** What the edge does once the object of a deleted tenant has ended. */
  deleteTenant(tenant: string): void {
    for (const table of COPIED) this.rows(`DELETE FROM ${table} WHERE tenant = ?`, tenant);
  }

  /** A table that has rows of the tenant, if any. */
  tableWith(tenant: string): string | null {
    return (
      COPIED.find((table) => this.rows(`SELECT 1 FROM ${table} WHERE tenant = ? LIMIT 1`, tenant).length > 0) ?? null
    );
  }

  close(): void {
    this.#db.endRun();
    spare.push(this.#db);
  }

  #apply({ statements }: Batch): void {
    this.appliedCount += 1;
    this.rows("SAVEPOINT batch");
    for (const statement of statements) {
      this.rows(statement.sql, ...statement.values);
      this.#noteJobs(statement);
    }
    this.rows("RELEASE batch");
  }

  #noteJobs({ sql, values }: Statement): void {
    if (!JOB_ROWS.test(sql)) return;
    const [, text] = values as [string, string];
    const ids = LISTED.test(sql) ? (JSON.parse(text) as [string][]).map(([id]) => id) : [text];
    for (const id of ids) this.#touched.add(id);
  }
}
