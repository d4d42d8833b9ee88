// Schemas agree: the migrated tables of every release equal those of a fresh start, and D1's SQL files make what its
// drizzle schema says. Stored fixtures are the evidence of what shipped.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { generateSQLiteDrizzleJson, generateSQLiteMigration } from "drizzle-kit/api";
import { getTableConfig, type SQLiteTable } from "drizzle-orm/sqlite-core";
import { describe, expect, test } from "vitest";
import { openStore } from "../../durable-objects/store/open.ts";
import { migrate, SCHEMA_STEPS, SCHEMA_VERSION } from "../../durable-objects/store/schema/schema.ts";
import * as drizzleSchema from "../../migrations/schema.ts";
import { TENANT_TABLES } from "../../src/history/tenant-tables.ts";
import { storageOver } from "../support/sqlite-storage.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";
import { historyFile, tenantFiles, use } from "./databases.ts";
import { storedVersions, unpack } from "./fixture.ts";

const MIGRATIONS = path.resolve(import.meta.dirname, "../../migrations");
/**
 * Tables of the platform, wrangler and SQLite in the same database, and the full-text index, which drizzle does not
 * know.
 */
const NOT_OURS = /^(_cf_|sqlite_|d1_migrations$|job_terms)/;

const folder = folderForEachTest();

/** By name, the text of each table, index and trigger, with normalised white space. */
const textsOf = (db: DatabaseSync): Record<string, string> => {
  const rows = db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").all();
  const ours = rows.filter(({ name }) => !NOT_OURS.test(String(name)));
  return Object.fromEntries(ours.map(({ name, sql }) => [name, String(sql).replace(/\s+/g, " ")]));
};

const tablesOf = (db: DatabaseSync): string[] =>
  db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map(({ name }) => String(name))
    .filter((name) => !NOT_OURS.test(name));

const countsOf = (db: DatabaseSync): Record<string, unknown> =>
  Object.fromEntries(
    tablesOf(db).map((name) => [name, db.prepare(`SELECT COUNT(*) AS count FROM "${name}"`).get()?.count]),
  );

/** A table's structure, however its text came about: an added column comes later in the text. */
const structureOf = (db: DatabaseSync): unknown =>
  tablesOf(db).map((table) => {
    const columns = db.prepare(`SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?) ORDER BY name`);
    const indexes = db.prepare(`SELECT name, "unique", origin, partial FROM pragma_index_list(?) ORDER BY name`);
    const parts = db.prepare("SELECT seqno, name, desc, coll FROM pragma_index_xinfo(?) WHERE key = 1");
    return {
      table,
      columns: columns.all(table),
      indexes: indexes.all(table).map((one) => ({ ...one, parts: parts.all(String(one.name)) })),
    };
  });

const SQL_FILES = readdirSync(MIGRATIONS)
  .filter((name) => name.endsWith(".sql"))
  .sort();

/** D1 after every migration except those already applied. */
const applyHistoryMigrations = (db: DatabaseSync, applied: ReadonlySet<string> = new Set()): void => {
  for (const name of SQL_FILES) if (!applied.has(name)) db.exec(readFileSync(path.join(MIGRATIONS, name), "utf8"));
};

const freshObject = (): DatabaseSync => {
  const db = new DatabaseSync(":memory:");
  openStore(storageOver(db));
  return db;
};

const freshHistory = (): DatabaseSync => {
  const db = new DatabaseSync(":memory:");
  applyHistoryMigrations(db);
  return db;
};

/** Settings that became rows of a table of their own. */
const MOVED_SETTINGS = "'catalog', 'budget_notice'";

/** Tables with rows, by tenant, beside those of every release. */
const FILLED: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  "0.1.0": { steady: ["backoffs"] },
  "0.2.0": {
    later: ["files", "batches", "webhooks", "deliveries", "responses", "model_tasks", "provider_keys", "outbox"],
  },
};
const ALWAYS_FILLED = ["jobs", "payloads", "workers", "keys", "sessions", "spending", "idempotency"];
/** Tables of history without rows: of young jobs, texts and events stand beside the job. */
const EMPTY: Readonly<Record<string, readonly string[]>> = {
  "0.2.0": ["archive_parts", "events", "payloads", "results"],
};

describe.each(storedVersions())("a database of release %s", (version) => {
  test("of a tenant becomes what a fresh one is, and keeps its rows", () => {
    unpack(version, folder.path);
    const files = tenantFiles(folder.path);
    expect(files.size).toBeGreaterThan(4);
    for (const [tenant, file] of files) {
      use(file, (db) => {
        const before = countsOf(db);
        const moved = db.prepare(`SELECT name FROM settings WHERE name IN (${MOVED_SETTINGS})`).all().length;
        const store = openStore(storageOver(db));
        expect(textsOf(db), tenant).toEqual(textsOf(freshObject()));
        expect(countsOf(db), tenant).toMatchObject({
          ...before,
          schema_steps: SCHEMA_VERSION,
          settings: Number(before.settings) - moved,
          // Beside the sum of all, one for each owner.
          file_sums: 1 + db.prepare("SELECT DISTINCT owner FROM files WHERE owner IS NOT NULL").all().length,
        });
        expect(store.settings.identity()?.tenant).toBe(tenant);
      });
    }
    for (const [tenant, tables] of [["steady", ALWAYS_FILLED] as const, ...Object.entries(FILLED[version] ?? {})]) {
      const counts = use(files.get(tenant) ?? "", countsOf);
      for (const table of tables) expect(counts[table], table).toBeGreaterThan(0);
    }
  });

  test("of history becomes what a fresh one is, and keeps its rows", () => {
    unpack(version, folder.path);
    use(historyFile(folder.path), (db) => {
      const before = countsOf(db);
      const applied = db.prepare("SELECT name FROM d1_migrations").all();
      applyHistoryMigrations(db, new Set(applied.map(({ name }) => String(name))));
      expect(textsOf(db)).toEqual(textsOf(freshHistory()));
      // Its rows are terms of the full-text index now.
      const { job_labels: _labels, ...kept } = before;
      expect(countsOf(db)).toMatchObject(kept);
      const empty = Object.keys(before).filter((table) => before[table] === 0);
      expect(empty.sort()).toEqual(EMPTY[version] ?? []);
    });
  });
});

describe("a tenant's tables", () => {
  test("reach the newest version from every one before", () => {
    for (let version = 0; version <= SCHEMA_VERSION; version += 1) {
      const db = new DatabaseSync(":memory:");
      migrate(storageOver(db).sql, SCHEMA_STEPS.slice(0, version));
      openStore(storageOver(db));
      openStore(storageOver(db));
      expect(textsOf(db)).toEqual(textsOf(freshObject()));
    }
  });

  test("stay as they were when a step fails half-way, and migrate the next time", () => {
    const db = freshObject();
    const storage = storageOver(db);
    const broken = [...SCHEMA_STEPS, ["CREATE TABLE added (id TEXT)", "CREATE TABLE added (id TEXT)"]];
    const before = textsOf(db);
    expect(() => storage.transactionSync(() => migrate(storage.sql, broken))).toThrow(/already exists/);
    expect(textsOf(db)).toEqual(before);
    const mended = [...SCHEMA_STEPS, ["CREATE TABLE added (id TEXT)"]];
    storage.transactionSync(() => migrate(storage.sql, mended));
    expect(Object.keys(textsOf(db))).toContain("added");
  });

  test("of a newer release are refused and left alone", () => {
    const db = new DatabaseSync(":memory:");
    const newer = [...SCHEMA_STEPS, ["ALTER TABLE jobs ADD COLUMN added TEXT"]];
    migrate(storageOver(db).sql, newer);
    const before = textsOf(db);
    expect(() => openStore(storageOver(db))).toThrow(/of a newer release/);
    expect(textsOf(db)).toEqual(before);
  });
});

describe("the history's migrations", () => {
  test("make what migrations/schema.ts says (else: npm run migrations)", async () => {
    const wanted = await generateSQLiteDrizzleJson(drizzleSchema);
    const nothing = await generateSQLiteDrizzleJson({});
    const db = new DatabaseSync(":memory:");
    for (const statement of await generateSQLiteMigration(nothing, wanted)) db.exec(statement);
    expect(structureOf(freshHistory())).toEqual(structureOf(db));
  });

  test("make the tables of tenants with the keys that moving and deleting a tenant go by", () => {
    const keyOf = (table: SQLiteTable): [string, string] => {
      const { name, primaryKeys, columns } = getTableConfig(table);
      const key = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
      return [name, key.map((column) => column.name).join(", ")];
    };
    const ofTenants = Object.values(drizzleSchema).filter((table) => "tenant" in table);
    expect(TENANT_TABLES).toEqual(Object.fromEntries(ofTenants.map(keyOf)));
    expect(Object.keys(TENANT_TABLES).at(-1)).toBe("tenants");
  });

  test("are those of drizzle's journal, whose last snapshot is migrations/schema.ts", async () => {
    const read = (name: string) => JSON.parse(readFileSync(path.join(MIGRATIONS, "meta", name), "utf8"));
    const tags = read("_journal.json").entries.map(({ tag }: { tag: string }) => `${tag}.sql`);
    expect(tags).toEqual(SQL_FILES);
    const last = read(`${String(tags.length - 1).padStart(4, "0")}_snapshot.json`);
    expect((await generateSQLiteDrizzleJson(drizzleSchema)).tables).toEqual(last.tables);
  });
});
