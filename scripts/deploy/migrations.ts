// D1's migrations in the account. `wrangler d1 migrations apply --remote` posts a whole file as one query, which the
// service splits at semicolons: triggers and comments have broken that. This sends each migration as a file to import,
// which the service runs as SQLite does, whole or not at all, with its row of wrangler's own ledger.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Database, Migration } from "../../self-host/build/project.ts";
import { ExitError } from "../../self-host/exit-error.ts";
import { parseJson, wrangler } from "./remote.ts";
import { withoutComments } from "./sql-text.ts";

const LEDGER =
  "CREATE TABLE IF NOT EXISTS d1_migrations (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL)";

/** A migration with its row in the ledger: one statement after another, each with its own semicolon. */
const importText = ({ name, queries }: Migration): string => {
  const ledgerRow = `INSERT INTO d1_migrations (name) VALUES ('${name.replaceAll("'", "''")}')`;
  return [...queries, ledgerRow].map((query) => `${withoutComments(query).replace(/;$/, "")};\n`).join("");
};

/** Applies what the ledger does not list yet; returns the names of what it applied. */
export const applyMigrations = async ({ binding, migrations }: Database): Promise<string[]> => {
  const execute = (failure: string, ...args: string[]): Promise<string> =>
    wrangler(failure, "d1", "execute", binding, "--remote", "--yes", ...args);
  const unread = `The migrations of ${binding} could not be listed.`;
  await execute(unread, "--command", LEDGER);
  const listed = parseJson<{ results: { name: string }[] }[]>(
    await execute(unread, "--json", "--command", "SELECT name FROM d1_migrations ORDER BY id"),
  );
  const applied = new Set(listed.flatMap(({ results }) => results.map(({ name }) => name)));
  const unknown = [...applied].filter((name) => !migrations.some((one) => one.name === name));
  if (unknown.length > 0)
    throw new ExitError(`A newer release has migrated ${binding} (${unknown.join(", ")}): deploy that release again.`);
  const due = migrations.filter(({ name }) => !applied.has(name));
  const folder = mkdtempSync(path.join(tmpdir(), "signalbox-migrations-"));
  try {
    for (const migration of due) {
      const file = path.join(folder, migration.name);
      writeFileSync(file, importText(migration));
      await execute(`The migration ${migration.name} of ${binding} was not applied.`, "--file", file);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return due.map(({ name }) => name);
};
