// D1's migrations at a start, in the runtime itself: each is applied completely or not at all.

import { expect, test } from "vitest";
import { loadProject, type Project } from "../../self-host/build/project.ts";
import { applyMigrations } from "../../self-host/d1-migrations.ts";
import { dataDirAt, makeStateFolders } from "../../self-host/data/data-dir.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";
import { historyFile, use } from "../upgrade/databases.ts";

const folder = folderForEachTest();

/** Migrates the folder with this checkout's migrations and one more with these statements. */
const migrateWith = async (queries: string[]): Promise<void> => {
  const project = await loadProject();
  const extra = { name: "9999_added.sql", queries };
  const databases: Project["databases"] = project.databases.map((database) => ({
    ...database,
    migrations: [...database.migrations, extra],
  }));
  const dir = dataDirAt(folder.path);
  makeStateFolders(dir);
  await applyMigrations({ ...project, databases }, dir);
};

const found = () =>
  use(historyFile(folder.path), (db) => ({
    tables: db
      .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
      .all()
      .map(({ name }) => name),
    applied: db
      .prepare("SELECT name FROM d1_migrations ORDER BY id")
      .all()
      .map(({ name }) => name),
  }));

test("a migration that fails half-way leaves the version before, and is applied whole the next time", async () => {
  const create = "CREATE TABLE added (id TEXT)";
  await expect(migrateWith([create, "INSERT INTO nowhere VALUES (1)"])).rejects.toThrow(/9999_added\.sql.*nowhere/);
  const before = found();
  expect(before.tables).toContain("jobs");
  expect(before.tables).not.toContain("added");
  expect(before.applied).not.toContain("9999_added.sql");

  await migrateWith([create, "INSERT INTO added VALUES ('a')"]);
  await migrateWith([create, "INSERT INTO added VALUES ('a')"]);
  expect(found()).toEqual({ tables: [...before.tables, "added"], applied: [...before.applied, "9999_added.sql"] });
  expect(use(historyFile(folder.path), (db) => db.prepare("SELECT id FROM added").all())).toEqual([{ id: "a" }]);
}, 60_000);
