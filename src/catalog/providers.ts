// The providers that this installation knows: those of providers/catalog, and those that `npm start` read from
// SERVICE_CATALOG_DIR. A file there with the name of a bundled provider takes its place.

import type { ProviderConfig } from "../../domain/catalog.ts";
import { bundledProviders } from "./bundled-providers.ts";
import { describeProblem, parseProvider } from "./provider-yaml.ts";

export type ProviderSet = ReadonlyMap<string, ProviderConfig>;

/** `files` is the variable SERVICE_CATALOG_FILES: JSON of the files' texts by name. Throws with file, line and key. */
export function loadProviders(files?: string): ProviderSet {
  const added = files === undefined || files === "" ? [] : readFiles(JSON.parse(files) as Record<string, string>);
  const byName = [...bundledProviders, ...added].map((provider) => [provider.provider, provider] as const);
  return new Map(byName.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** All of them, or one error that lists everything that is wrong with any of them. */
export function readFiles(files: Readonly<Record<string, string>>): ProviderConfig[] {
  const problems: string[] = [];
  const fileOf = new Map<string, string>();
  const providers: ProviderConfig[] = [];
  for (const [file, text] of Object.entries(files)) {
    const reading = parseProvider(file, text);
    if (!reading.ok) {
      problems.push(...reading.problems.map(describeProblem));
      continue;
    }
    const { provider } = reading.provider;
    const other = fileOf.get(provider);
    if (other !== undefined) problems.push(`${file}:1: provider: ${provider} is already described by ${other}`);
    fileOf.set(provider, file);
    providers.push(reading.provider);
  }
  if (problems.length > 0) throw new Error(`providers of the catalog cannot be read:\n  ${problems.join("\n  ")}`);
  return providers;
}
