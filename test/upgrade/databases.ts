// The SQLite files of a data folder whose server is not running: D1's, and each tenant's object's.

import { readdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".sqlite"))
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();

const hasTable = (file: string, table: string): boolean => {
  const db = new DatabaseSync(file);
  try {
    return db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table) !== undefined;
  } finally {
    db.close();
  }
};

export const historyFile = (dataDir: string): string => {
  const file = filesBelow(path.join(dataDir, "state", "d1")).find((one) => hasTable(one, "d1_migrations"));
  if (file === undefined) throw new Error(`${dataDir} has no D1 database`);
  return file;
};

/** By tenant, the file of its object. */
export const tenantFiles = (dataDir: string): Map<string, string> => {
  const found = new Map<string, string>();
  for (const file of filesBelow(path.join(dataDir, "state", "objects"))) {
    if (!hasTable(file, "settings")) continue;
    const identity = use(file, (db) => db.prepare("SELECT value FROM settings WHERE name = 'identity'").get());
    if (identity !== undefined) found.set((JSON.parse(String(identity.value)) as { tenant: string }).tenant, file);
  }
  return found;
};

export const use = <T>(file: string, work: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
};

/** Ten years, the most that the config takes. A fixture is soon older than the week of the default. */
export const FOR_EVER_SECONDS = 3650 * 86_400;

/** Lets no tenant forget its workers. */
export const keepWorkers = (dataDir: string): void => {
  for (const file of tenantFiles(dataDir).values())
    use(file, (db) => {
      const row = db.prepare("SELECT value FROM settings WHERE name = 'config'").get();
      const { etag = '"kept"', document = {} } = row === undefined ? {} : JSON.parse(String(row.value));
      const presence = { ...document.presence, forget_after_seconds: FOR_EVER_SECONDS };
      const value = JSON.stringify({ etag, document: { ...document, presence } });
      db.prepare("INSERT OR REPLACE INTO settings (name, value) VALUES ('config', ?)").run(value);
    });
};

/** By when a row goes, in the tables of a tenant's object and in those of the objects with its files. */
const ENDS = { files: "expires_at", responses: "expires_at", shelved: "expires_at", batches: "ended_at" };
const RECORDS_WITH_ENDS = ["files", "batches", "responses"];
/** An object with files deletes them by its alarm, which workerd keeps twice, in nanoseconds. */
const OBJECTS_WITH_FILES = "signalbox-StoredFile";
const ALARMS = { _cf_METADATA: "value", _cf_ALARM: "scheduled_time" };

/** Lets no file, batch or stored response end by itself, however long after its recording the folder is read. */
export const postponeEnds = (dataDir: string, until: number): void => {
  for (const file of filesBelow(path.join(dataDir, "state", "objects"))) {
    const set = (table: string, column: string, value: number | bigint): void => {
      if (hasColumn(file, table, column))
        use(file, (db) => db.prepare(`UPDATE ${table} SET ${column} = ? WHERE ${column} IS NOT NULL`).run(value));
    };
    for (const [table, column] of Object.entries(ENDS)) set(table, column, until);
    for (const table of RECORDS_WITH_ENDS)
      if (hasColumn(file, table, "record"))
        use(file, (db) => db.prepare(`UPDATE ${table} SET record = json_replace(record, '$.expiresAt', ?)`).run(until));
    if (file.includes(OBJECTS_WITH_FILES))
      for (const [table, column] of Object.entries(ALARMS)) set(table, column, BigInt(until) * 1_000_000n);
  }
};

const hasColumn = (file: string, table: string, column: string): boolean =>
  use(file, (db) => db.prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = ?").get(table, column) !== undefined);
