// The migrations of `npm run dev`, in the files that wrangler itself would make.

import { readdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { migrateDevelopment } from "../../scripts/dev-migrations.ts";
import { builtProject } from "../../self-host/build/project.ts";
import { databasesBelow } from "../../self-host/files-below.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const folder = folderForEachTest();

const ledger = () => {
  const all = databasesBelow(path.join(folder.path, "v3/d1")).filter((one) => !one.endsWith("metadata.sqlite"));
  expect(all).toHaveLength(1);
  return new DatabaseSync(all[0] ?? "");
};

it("are applied once, each with its row in wrangler's ledger", async () => {
  await migrateDevelopment(folder.path);
  await migrateDevelopment(folder.path);
  const applied = ledger()
    .prepare("SELECT name FROM d1_migrations ORDER BY id")
    .all()
    .map(({ name }) => name);
  expect(applied).toEqual(builtProject().databases[0]?.migrations.map(({ name }) => name));
  expect(readdirSync(path.resolve(import.meta.dirname, "../../migrations"))).toEqual(expect.arrayContaining(applied));
});

it("of a newer release end it, by name", async () => {
  await migrateDevelopment(folder.path);
  ledger().exec("INSERT INTO d1_migrations (name) VALUES ('9999_later.sql')");
  await expect(migrateDevelopment(folder.path)).rejects.toThrow(
    "The D1 migrations could not be applied: a newer release has migrated this database: 9999_later.sql",
  );
});
