// The providers of this installation: those of providers/catalog, and those that `npm start` read from
// SERVICE_CATALOG_DIR. A file there replaces the bundled provider of the same name.

import { isObject, parseJson } from "../../contract/text/json-object.ts";
import type { ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { log } from "../../log/log.ts";
import { bundledProviders } from "../../providers/bundled-providers.ts";
import { describeProblem, parseProvider } from "./provider-yaml.ts";

export type ProviderSet = ReadonlyMap<string, ProviderDefinition>;

/** The files that are valid, and what is wrong with the others by file, line and key. */
interface FolderReading {
  readonly providers: readonly ProviderDefinition[];
  readonly problems: readonly string[];
}

/**
 * `files` is the variable SERVICE_CATALOG_FILES: JSON of the files' texts by name. Never throws: `npm start` has
 * refused invalid files, so any that still get here are logged and left out. Without local providers no tenant can aim
 * a request at a private address.
 */
export const loadProviders = (files?: string, isLocalOn = true): ProviderSet => {
  const { providers, problems } = files === undefined || files === "" ? NOTHING : readFiles(textsOf(files));
  for (const detail of problems) log("error", "catalog.provider_left_out", { detail });
  const byName = [...bundledProviders, ...providers].map((provider) => [provider.provider, provider] as const);
  const open = byName.filter(([, provider]) => isLocalOn || !provider.local);
  return new Map(open.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
};

const NOTHING: FolderReading = { providers: [], problems: [] };

/** A variable that is not such JSON counts as one unreadable file. */
const textsOf = (files: string): Readonly<Record<string, unknown>> => {
  const texts = parseJson(files);
  return isObject(texts) ? texts : { SERVICE_CATALOG_FILES: null };
};

/** If two files describe one provider, the first counts. */
export const readFiles = (files: Readonly<Record<string, unknown>>): FolderReading => {
  const problems: string[] = [];
  const fileOf = new Map<string, string>();
  const providers: ProviderDefinition[] = [];
  for (const [file, text] of Object.entries(files)) {
    if (typeof text !== "string") {
      problems.push(`${file}: is not the text of a provider file`);
      continue;
    }
    const reading = parseProvider(file, text);
    if (!reading.ok) {
      problems.push(...reading.problems.map(describeProblem));
      continue;
    }
    const { provider } = reading.provider;
    const other = fileOf.get(provider);
    if (other !== undefined) {
      problems.push(`${file}:1: provider: ${provider} is already described by ${other}`);
      continue;
    }
    fileOf.set(provider, file);
    providers.push(reading.provider);
  }
  return { providers, problems };
};
