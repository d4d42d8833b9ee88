// Writes wrangler.toml and the D1 migrations, as wrangler reads them, into dist/ (`project.ts`). A process of its own,
// because wrangler's modules slow down every event emitter of a server.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../run-command.ts";
import { type Migration, PROJECT_FILE, type Project } from "./project.ts";

type Wrangler = typeof import("wrangler");

/** The part of wrangler's parsed configuration that is used here; its own types are not exported. */
interface WranglerConfig {
  compatibility_date?: string;
  compatibility_flags: string[];
  vars: Record<string, unknown>;
  durable_objects: { bindings: { name: string; class_name: string }[] };
  migrations: { new_sqlite_classes?: string[] }[];
  d1_databases: { binding: string; database_name?: string; database_id?: string; migrations_dir?: string }[];
  assets?: {
    binding?: string;
    directory?: string;
    not_found_handling?: string;
    run_worker_first?: boolean | string[];
  };
  triggers: { crons?: string[] };
}

const readMigrations = (wrangler: Wrangler, directory: string): Migration[] => {
  const folder = path.join(ROOT, directory);
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.sort().map((name) => ({
    name,
    queries: wrangler.unstable_splitSqlQuery(readFileSync(path.join(folder, name), "utf8")),
  }));
};

const toAssets = (assets: WranglerConfig["assets"]): Project["assets"] => {
  if (!assets?.directory) return null;
  return {
    ...(assets.binding === undefined ? {} : { binding: assets.binding }),
    ...(assets.not_found_handling === undefined ? {} : { notFoundHandling: assets.not_found_handling }),
    directory: assets.directory,
    runWorkerFirst: assets.run_worker_first ?? false,
  };
};

const readProject = async (): Promise<Project> => {
  const wrangler = await import("wrangler");
  const config: WranglerConfig = wrangler.unstable_readConfig(
    { config: path.join(ROOT, "wrangler.toml") },
    { hideWarnings: true },
  );
  const sqlClasses = new Set(config.migrations.flatMap((step) => step.new_sqlite_classes ?? []));
  return {
    compatibilityDate: config.compatibility_date ?? "",
    compatibilityFlags: config.compatibility_flags,
    vars: config.vars,
    durableObjects: config.durable_objects.bindings.map(({ name, class_name }) => ({
      binding: name,
      className: class_name,
      usesSql: sqlClasses.has(class_name),
    })),
    databases: config.d1_databases.map((database) => ({
      binding: database.binding,
      databaseName: database.database_name ?? database.binding,
      databaseId: database.database_id ?? database.binding,
      migrations: readMigrations(wrangler, database.migrations_dir ?? "migrations"),
    })),
    assets: toAssets(config.assets),
    crons: config.triggers.crons ?? [],
  };
};

mkdirSync(path.join(ROOT, "dist"), { recursive: true });
writeFileSync(path.join(ROOT, PROJECT_FILE), JSON.stringify(await readProject(), null, 2));
