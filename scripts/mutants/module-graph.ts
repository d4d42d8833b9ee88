// Loads parts of the tree again and again in one thread, each time with another change to one file. What depends on
// that file is evaluated again, so that no state or constant of an earlier load is left; all else stays loaded.

import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ROOT } from "../run-command.ts";

const QUICK_VITEST = new URL("./quick-vitest.ts", import.meta.url).href;
const BASE_CLASSES = new URL("./platform/base-classes.ts", import.meta.url).href;
const SERVICE = new URL("./platform/service.ts", import.meta.url).href;
const ROOT_URL = `${pathToFileURL(ROOT).href}/`;

export const urlOf = (file: string): string => pathToFileURL(path.join(ROOT, file)).href;

const isOurs = (url: string): boolean => url.startsWith(ROOT_URL) && !url.includes("/node_modules/");
export const withoutQuery = (url: string): string => url.split("?")[0] ?? url;

/** Who imports a module, by its address. */
const importers = new Map<string, Set<string>>();
/** JavaScript by address; types are replaced by spaces, so that positions stay. */
const codes = new Map<string, string>();

let loads = 0;
let changed = { url: "", code: "" };
/** What is evaluated again at this load. */
let affected: ReadonlySet<string> = new Set();

const dependentsOf = (url: string): Set<string> => {
  const found = new Set([url]);
  for (const one of found) for (const importer of importers.get(one) ?? []) found.add(importer);
  return found;
};

const addressOf = (url: string): string => (affected.has(url) ? `${url}?load=${loads}` : url);

const codeOf = (url: string): string => {
  if (url === changed.url) return changed.code;
  const code = codes.get(url) ?? stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8"));
  codes.set(url, code);
  return code;
};

/** What takes the place of the test runner and of the platform, whose tests see the service and the service its base. */
const standInFor = (specifier: string, from: string): string | null => {
  if (specifier === "vitest") return QUICK_VITEST;
  if (!specifier.startsWith("cloudflare:")) return null;
  return from.startsWith(`${ROOT_URL}test/`) ? SERVICE : BASE_CLASSES;
};

registerHooks({
  resolve: (specifier, context, next) => {
    const from = withoutQuery(context.parentURL ?? "");
    const standIn = standInFor(specifier, from);
    const found = standIn === null ? next(specifier, context) : { url: standIn, shortCircuit: true };
    if (!isOurs(found.url)) return found;
    importers.set(found.url, (importers.get(found.url) ?? new Set()).add(from));
    return { ...found, url: addressOf(found.url) };
  },
  load: (url, context, next) => {
    const plain = withoutQuery(url);
    if (!isOurs(plain) || !plain.endsWith(".ts")) return next(url, context);
    return { format: "module", source: codeOf(plain), shortCircuit: true };
  },
});

/** From now on these files and what depends on them are loaded again, as they are. */
export const loadAgain = (files: Iterable<string>): void => {
  loads += 1;
  affected = new Set([...files].flatMap((file) => [...dependentsOf(urlOf(file))]));
  changed = { url: "", code: "" };
};

/** From now on modules are loaded with this text in place of the file's own. */
export const change = (file: string, text: string): void => {
  loadAgain([file]);
  changed = { url: urlOf(file), code: stripTypeScriptTypes(text) };
};

export const load = (file: string): Promise<unknown> => import(addressOf(urlOf(file)));
