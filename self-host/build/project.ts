// wrangler.toml and the D1 migrations, as wrangler reads them, cached as JSON in dist/: wrangler takes more than a
// second to load, so a start without changes should not need it. wrangler.toml remains the only source.

import { readFileSync } from "node:fs";
import path from "node:path";
import { ExitError } from "../exit-error.ts";
import { ROOT, runCommand } from "../run-command.ts";
import { buildIfChanged, type Step } from "./stamp.ts";

export const PROJECT_FILE = "dist/project.json";

export const PROJECT: Step = {
  stamp: "dist/project.stamp",
  product: PROJECT_FILE,
  inputs: ["wrangler.toml", "migrations", "self-host/build/make-project.ts", "package-lock.json"],
};

export type Migration = {
  /** The file's name, which wrangler also records in d1_migrations. */
  name: string;
  queries: string[];
};

export type Database = { binding: string; databaseName: string; migrations: Migration[] };

export interface Project {
  compatibilityDate: string;
  compatibilityFlags: string[];
  vars: Record<string, unknown>;
  durableObjects: { binding: string; className: string; usesSql: boolean }[];
  databases: (Database & { databaseId: string })[];
  assets: { binding?: string; directory: string; notFoundHandling?: string; runWorkerFirst: boolean | string[] } | null;
  crons: string[];
}

/** As the last build read it. */
export const builtProject = (): Project => JSON.parse(readFileSync(path.join(ROOT, PROJECT_FILE), "utf8")) as Project;

export const loadProject = async (): Promise<Project> => {
  await buildIfChanged(PROJECT, async () => {
    const program = path.join(ROOT, "self-host/build/make-project.ts");
    const args = ["--disable-warning=ExperimentalWarning", program];
    const { code, output } = await runCommand(process.execPath, args, { isQuiet: true });
    if (code !== 0) throw new ExitError(`wrangler.toml cannot be read:\n${output}`);
  });
  return builtProject();
};
