// Writes the provider files of providers/catalog into providers/bundled-providers.ts: the one table of providers that the
// catalog, the coordinator's own calls and the worker process read. Node only.

import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { ProviderDefinition } from "../domain/catalog/catalog.ts";
import { ExitError, runScript } from "../self-host/exit-error.ts";
import { readFiles } from "../src/catalog/providers.ts";

export const BUNDLED_FOLDER = path.join(import.meta.dirname, "../providers/catalog");
export const BUNDLED_MODULE = path.join(import.meta.dirname, "../providers/bundled-providers.ts");

/** The folder's YAML texts by file name; as JSON, the value of SERVICE_CATALOG_FILES. */
export const providerFiles = async (folder: string): Promise<Record<string, string>> => {
  const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name)).sort();
  const files = names.map(async (name) => [name, await readFile(path.join(folder, name), "utf8")] as const);
  return Object.fromEntries(await Promise.all(files));
};

/** Every provider of the folder, by name. Throws one error with all problems, each with file, line and key. */
export const readProviderFolder = async (folder: string): Promise<ProviderDefinition[]> => {
  const { providers, problems } = readFiles(await providerFiles(folder));
  if (problems.length > 0) throw new ExitError(`providers of the catalog are invalid:\n  ${problems.join("\n  ")}`);
  return [...providers].sort((a, b) => (a.provider < b.provider ? -1 : 1));
};

export const bundledModuleText = (providers: readonly ProviderDefinition[]): string => {
  const lines = providers.map((provider) => `  ${JSON.stringify(provider)},`).join("\n");
  return [
    "// Made from providers/catalog/*.yaml by npm run providers. Do not edit: edit the YAML and run it again.",
    'import type { ProviderDefinition } from "../domain/catalog/catalog.ts";',
    "",
    "// biome-ignore format: one provider a line",
    "export const bundledProviders: readonly ProviderDefinition[] = [",
    lines,
    "];",
    "",
  ].join("\n");
};

/** Returns whether the file changed. */
const writeBundledModule = async (): Promise<boolean> => {
  const text = bundledModuleText(await readProviderFolder(BUNDLED_FOLDER));
  const before = await readFile(BUNDLED_MODULE, "utf8").catch(() => "");
  if (before === text) return false;
  await writeFile(BUNDLED_MODULE, text);
  return true;
};

if (import.meta.main)
  await runScript(async () => {
    const isNew = await writeBundledModule();
    console.log(`${path.relative(process.cwd(), BUNDLED_MODULE)} ${isNew ? "is written" : "was up to date"}.`);
    return 0;
  });
