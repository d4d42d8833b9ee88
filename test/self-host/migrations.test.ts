// D1's migrations at a start, in the runtime itself: each is applied completely or not at all.

import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { loadProject, type Project } from "../../self-host/build/project.ts";
import { misfitOf, runWorkerd } from "../../self-host/children/workerd.ts";
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

test("nothing is run where nothing is to apply, and only there", async () => {
  const project = await loadProject();
  const dir = dataDirAt(folder.path);
  makeStateFolders(dir);
  const apply = async (): Promise<boolean> => {
    rmSync(dir.migrationConfig, { force: true });
    await applyMigrations(project, dir);
    return existsSync(dir.migrationConfig);
  };
  expect([await apply(), await apply()]).toEqual([true, false]);
  use(historyFile(folder.path), (db) => db.exec("DELETE FROM d1_migrations WHERE id > 1"));
  await expect(apply()).rejects.toThrow(/already exists/);
  use(historyFile(folder.path), (db) => db.exec("DROP TABLE d1_migrations"));
  await expect(apply()).rejects.toThrow(/already exists/);
}, 60_000);

test("a database that a newer release has migrated is refused", async () => {
  const project = await loadProject();
  await migrateWith(["CREATE TABLE added (id TEXT)"]);
  await expect(applyMigrations(project, dataDirAt(folder.path))).rejects.toThrow(/newer release.*9999_added\.sql/);
}, 60_000);

test.each([
  ["whose C library is missing, as on Alpine", "#!/nowhere/ld-linux.so.2\n", /does not run here: spawn .* ENOENT/],
  ["whose instructions the processor lacks", "#!/bin/sh\nkill -s ILL $$\n", /does not run here: .*\(SIGILL\)/],
])("a runtime %s is a sentence that says what it needs", async (_, text, why) => {
  const program = path.join(folder.path, "runtime");
  writeFileSync(program, text);
  chmodSync(program, 0o755);
  const ended = runWorkerd(["test"], program);
  await expect(ended).rejects.toThrow(why);
  await expect(ended).rejects.toThrow(/needs Linux with glibc.*\n.*take its container/);
});

test("a library that Windows lacks is named, with where it is", () => {
  expect(misfitOf(0xc0000135, null)).toMatch(/^it needs the latest Visual C\+\+ runtime of Microsoft \(https:/);
  expect(misfitOf(1, null)).toBeNull();
});
