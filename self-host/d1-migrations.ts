// D1 migrations of a self-hosted server, applied through the D1 binding: `workerd test` runs a small worker with the
// same storage to its end, without an open socket.

import { copyFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Project } from "./build/project.ts";
import { WORKERD } from "./children/workerd.ts";
import { configText, embed, record } from "./config/capnp-text.ts";
import { databaseBinding, databaseServices, service } from "./config/serving-config.ts";
import type { DataDir } from "./data/data-dir.ts";
import { ExitError } from "./exit-error.ts";
import { ROOT, runCommand } from "./run-command.ts";

export const applyMigrations = async (project: Project, dir: DataDir): Promise<void> => {
  copyFileSync(path.join(ROOT, "self-host/migration-worker.js"), dir.migrationWorker);
  const worker = service("migrations", {
    modules: [record({ name: "worker.js", esModule: embed(path.basename(dir.migrationWorker)) })],
    compatibilityDate: project.compatibilityDate,
    bindings: [
      record({ name: "DATABASES", json: JSON.stringify(project.databases) }),
      ...project.databases.map(({ binding }) => databaseBinding(binding)),
    ],
  });
  writeFileSync(dir.migrationConfig, configText([...databaseServices(dir), worker], []), { mode: 0o600 });
  const { code, output } = await runCommand(WORKERD, ["test", "--experimental", dir.migrationConfig], {
    isQuiet: true,
  });
  if (code !== 0) throw new ExitError(`The D1 migrations failed, so the server did not start:\n${output}`);
};
