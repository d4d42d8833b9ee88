// wrangler.toml and the D1 migrations, as wrangler reads them, cached as JSON in dist/: wrangler takes more than a
// second to load, so a start without changes should not need it. wrangler.toml remains the only source. wrangler runs
// in a process of its own, because its modules slow down every event emitter of a server.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { ExitError } from "../exit-error.ts";
import { ROOT, runCommand } from "../run-command.ts";
import { buildIfChanged } from "./stamp.ts";

const PRODUCT = "dist/project.json";

export interface Migration {
  /** The file's name, which wrangler also records in d1_migrations. */
  name: string;
  queries: string[];
}

export interface Project {
  compatibilityDate: string;
  compatibilityFlags: string[];
  vars: Record<string, unknown>;
  durableObjects: { binding: string; className: string; usesSql: boolean }[];
  databases: { binding: string; databaseName: string; migrations: Migration[] }[];
  assets: { binding?: string; directory: string; notFoundHandling?: string; runWorkerFirst: boolean | string[] } | null;
  crons: string[];
}

type Wrangler = typeof import("wrangler");

/** The part of wrangler's parsed configuration that is used here; its own types are not exported. */
interface WranglerConfig {
  compatibility_date?: string;
  compatibility_flags: string[];
  vars: Record<string, unknown>;
  durable_objects: { bindings: { name: string; class_name: string }[] };
  migrations: { new_sqlite_classes?: string[] }[];
  d1_databases: { binding: string; database_name?: string; migrations_dir?: string }[];
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
      migrations: readMigrations(wrangler, database.migrations_dir ?? "migrations"),
    })),
    assets: toAssets(config.assets),
    crons: config.triggers.crons ?? [],
  };
};

export const loadProject = async (): Promise<Project> => {
  const inputs = ["wrangler.toml", "migrations", "self-host/build/project.ts", "package-lock.json"];
  await buildIfChanged({ stamp: "dist/project.stamp", product: PRODUCT, inputs }, async () => {
    const args = ["--disable-warning=ExperimentalWarning", fileURLToPath(import.meta.url)];
    const { code, output } = await runCommand(process.execPath, args, { isQuiet: true });
    if (code !== 0) throw new ExitError(`wrangler.toml cannot be read:\n${output}`);
  });
  return JSON.parse(readFileSync(path.join(ROOT, PRODUCT), "utf8")) as Project;
};

if (import.meta.main) {
  mkdirSync(path.join(ROOT, "dist"), { recursive: true });
  writeFileSync(path.join(ROOT, PRODUCT), JSON.stringify(await readProject(), null, 2));
}
