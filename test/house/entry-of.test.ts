// Words from outside (a provider's name, an error's code, a model) are looked up with `entryOf`: a plain object has
// entries of its own that nobody wrote, so `TABLE[word]` finds a function for "constructor".

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.join(import.meta.dirname, "../..");
const ROOMS = "{cli,contract,dashboard,domain,durable-objects,log,sdk,self-host,src,worker}";
const TABLE = /^(?:export )?const ([A-Z_]+): (?:Readonly<)?Record<string, /gm;

/** Tables that are asked only for words of this repository. */
const OWN_WORDS: ReadonlySet<string> = new Set([
  "COLUMNS_OF",
  "EVENTS",
  "FIELD_NAMES",
  "HEADERS",
  "HOSTED_PROVIDERS",
  "KINDS",
  "LAST_EVENTS",
  "LOCAL_PROVIDERS",
  "MODULE_KIND",
  "OPERATION",
  "OWN",
  "PARSER_REFUSALS",
  "REGIONS",
  "SAMPLE_TEXTS",
  "SAYS",
  "TEXTS",
  "UNITS",
]);

it("a table of words is not asked for a word from outside as if it had only what was written into it", async () => {
  const found: string[] = [];
  const seen = new Set<string>();
  for await (const file of glob(`${ROOMS}/**/*.{ts,tsx}`, { cwd: ROOT, exclude: (name) => name === "node_modules" })) {
    const source = readFileSync(path.join(ROOT, file), "utf8");
    for (const [, name = ""] of source.matchAll(TABLE)) {
      seen.add(name);
      if (!OWN_WORDS.has(name) && new RegExp(`\\b${name}\\[`).test(source)) found.push(`${file}: ${name}`);
    }
  }
  expect(found).toEqual([]);
  expect(seen.size).toBeGreaterThan(20);
});
