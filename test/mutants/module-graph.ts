// Loads parts of the tree again and again in one thread, each time with another change to one file. All modules of the
// tree are evaluated again, not only those that depend on that file: a test that a change broke off may have left
// something in any of them.

import { readFileSync } from "node:fs";
import { registerHooks, stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ROOT } from "../../self-host/run-command.ts";

const QUICK_VITEST = new URL("./quick-vitest.ts", import.meta.url).href;
const ROOT_URL = `${pathToFileURL(ROOT).href}/`;

export const urlOf = (file: string): string => pathToFileURL(path.join(ROOT, file)).href;

const isOurs = (url: string): boolean => url.startsWith(ROOT_URL) && !url.includes("/node_modules/");
export const withoutQuery = (url: string): string => url.split("?")[0] ?? url;

/** JavaScript by address; types are replaced by spaces, so that positions stay. */
const codes = new Map<string, string>();

let loads = 0;
let changed = { url: "", code: "" };

const addressOf = (url: string): string => (loads === 0 || url === QUICK_VITEST ? url : `${url}?load=${loads}`);

const codeOf = (url: string): string => {
  if (url === changed.url) return changed.code;
  const code = codes.get(url) ?? stripTypeScriptTypes(readFileSync(fileURLToPath(url), "utf8"));
  codes.set(url, code);
  return code;
};

registerHooks({
  resolve: (specifier, context, next) => {
    // One instance collects the tests of all loads.
    const found = specifier === "vitest" ? { url: QUICK_VITEST, shortCircuit: true } : next(specifier, context);
    return isOurs(found.url) ? { ...found, url: addressOf(withoutQuery(found.url)) } : found;
  },
  load: (url, context, next) => {
    const plain = withoutQuery(url);
    if (!isOurs(plain) || !plain.endsWith(".ts")) return next(url, context);
    return { format: "module", source: codeOf(plain), shortCircuit: true };
  },
});

/** From now on modules are loaded again, as they are. */
export const loadAgain = (): void => {
  loads += 1;
  changed = { url: "", code: "" };
};

/** From now on modules are loaded again, with this text in place of the file's own. */
export const change = (file: string, text: string): void => {
  loadAgain();
  changed = { url: urlOf(file), code: stripTypeScriptTypes(text) };
};

export const load = (file: string): Promise<unknown> => import(urlOf(file));
