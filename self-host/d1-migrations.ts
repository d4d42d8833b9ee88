// D1 migrations of a self-hosted server, applied through the D1 binding: `workerd test` runs a small worker with the
// same storage to its end, without an open socket. Where nothing is to apply, which D1's own ledger tells, none is run:
// it would take a fifth of a start.

import { copyFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Project } from "./build/project.ts";
import { runWorkerd } from "./children/workerd.ts";
import { configText, embed, record } from "./config/capnp-text.ts";
import { databaseBinding, databaseServices, service } from "./config/serving-config.ts";
import type { DataDir } from "./data/data-dir.ts";
import { ExitError } from "./exit-error.ts";
import { databasesBelow } from "./files-below.ts";
import { ROOT } from "./run-command.ts";

/** What the runtime keeps beside the databases of a folder. */
const REGISTER = "metadata.sqlite";

/** The migrations that are applied to a database; none if it does not tell. */
const appliedTo = (file: string): unknown[] => {
  const database = new DatabaseSync(file);
  try {
    return database
      .prepare("SELECT name FROM d1_migrations")
      .all()
      .map(({ name }) => name);
  } catch {
    return [];
  } finally {
    database.close();
  }
};

/** True if the only database has every migration and no other. With several it is not known which file is which. */
const isMigrated = ({ databases }: Project, dir: DataDir): boolean => {
  const [file, ...others] = databasesBelow(dir.databases).filter((one) => path.basename(one) !== REGISTER);
  const [database] = databases;
  if (file === undefined || others.length > 0 || database === undefined || databases.length > 1) return false;
  const applied = new Set(appliedTo(file));
  return applied.size === database.migrations.length && database.migrations.every(({ name }) => applied.has(name));
};

export const applyMigrations = async (project: Project, dir: DataDir): Promise<void> => {
  if (isMigrated(project, dir)) return;
  copyFileSync(path.join(ROOT, "self-host/migration-worker.js"), dir.migrationWorker);
  const worker = service("migrations", {
    modules: [record({ name: "worker.js", esModule: embed(dir.root, dir.migrationWorker) })],
    compatibilityDate: project.compatibilityDate,
    bindings: [
      record({ name: "DATABASES", json: JSON.stringify(project.databases) }),
      ...project.databases.map(({ binding }) => databaseBinding(binding)),
    ],
  });
  writeFileSync(dir.migrationConfig, configText([...databaseServices(dir), worker], []), { mode: 0o600 });
  const { code, output } = await runWorkerd(["test", "--experimental", dir.migrationConfig]);
  if (code !== 0) throw new ExitError(`The D1 migrations failed, so the server did not start:\n${output}`);
};
