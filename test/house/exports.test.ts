// What a file exports is what another file uses: all else is its own affair, and a reader need not look for a caller.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.join(import.meta.dirname, "../..");
const FOLDERS =
  "{bench,cli,contract,dashboard,domain,durable-objects,log,providers,scripts,sdk,self-host,src,test,worker}";
/** Read by programs that use the package, by the maker of its types, and by the tests. */
const OPEN = /^(sdk|contract|worker\/serve|test)\/|\.d\.mts$/;
const EXPORTED = /^export (?:abstract |async )*(?:class|const|function\*?|interface|type) (\w+)/gm;

const sources = new Map<string, string>();
for await (const entry of glob(`${FOLDERS}/**/*.{ts,tsx,mts,mjs}`, {
  cwd: ROOT,
  exclude: (name) => ["node_modules", "dist", "fixtures"].includes(name) || name.startsWith("."),
}))
  sources.set(entry.replaceAll(path.sep, "/"), readFileSync(path.join(ROOT, entry), "utf8"));

const filesWith = new Map<string, number>();
for (const source of sources.values())
  for (const word of new Set(source.split(/\W+/))) filesWith.set(word, (filesWith.get(word) ?? 0) + 1);

it("a name that no other file has is not exported", () => {
  expect(sources.size).toBeGreaterThan(1_000);
  const unused = [...sources]
    .filter(([file]) => !OPEN.test(file))
    .flatMap(([file, source]) => [...source.matchAll(EXPORTED)].map(([, name = ""]) => ({ file, name })))
    .filter(({ name }) => filesWith.get(name) === 1);
  expect(unused).toEqual([]);
});
