// One word for one thing: names that stood beside the word of CONTRIBUTING's list ("Words") and must not come back. The
// names of the wire and of stored records stay as they are: job.streaming, first_token_ms, killswitch.activated,
// activated_at, and the operations that give the document its ids.

import { readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = path.join(import.meta.dirname, "../..");
const ROOMS = "{bench,cli,contract,dashboard,domain,durable-objects,log,migrations,scripts,sdk,self-host,src,worker}";

/** The word, and the names that it replaced. */
const REPLACED: Readonly<Record<string, readonly string[]>> = {
  "first token": ["onContent", "speakFirst", "hasSpoken", "speaksFor"],
  "begun answer": ["loseSpoken", "failHeard", "endHeard", "isHeard"],
  "engage, clear": ["activate", "deactivate"],
  "leave (a tenant)": ["depart", "departed", "departTenant", "Departure"],
  patch: ["editSubscription", "editScheduleRequest"],
};

/** A type with such a name says nothing: each place had its own. A body has parts, a group of jobs has a line. */
const VAGUE_TYPES: Readonly<Record<string, readonly string[]>> = {
  Asked: [],
  Line: ["domain/job/line.ts"],
  Waiting: [],
  Part: ["src/files/multipart.ts"],
  Data: [],
  Info: [],
  Item: [],
};

const sources = new Map<string, string>();
for await (const entry of glob(`${ROOMS}/**/*.{ts,tsx}`, {
  cwd: ROOT,
  exclude: (name) => ["node_modules", "dist"].includes(name) || name.startsWith("."),
})) {
  sources.set(entry.replaceAll(path.sep, "/"), readFileSync(path.join(ROOT, entry), "utf8"));
}

/** The code alone: no comments and no quoted text. */
const codeOf = (source: string): string =>
  source
    .replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, "")
    .replaceAll(/"(?:[^"\\\n]|\\.)*"/g, '""')
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''");

const filesWith = (pattern: RegExp): string[] =>
  [...sources].filter(([, source]) => pattern.test(codeOf(source))).map(([file]) => file);

describe("one word for one thing", () => {
  it.each(Object.entries(REPLACED).flatMap(([word, names]) => names.map((name) => ({ name, word }))))(
    "$name is $word",
    ({ name }) => {
      expect(filesWith(new RegExp(`(?<![\\w$.])${name}(?![\\w$])|\\.${name}\\(`))).toEqual([]);
    },
  );

  it.each(Object.entries(VAGUE_TYPES))("a type is not named %s alone", (name, allowed) => {
    expect(filesWith(new RegExp(`\\b(?:type|interface|class) ${name}\\b`))).toEqual(allowed);
  });

  it("is found in code, not in comments or text", () => {
    expect(codeOf('// depart\n/** depart\n * depart */\nconst a = "depart";')).not.toContain("depart");
    expect(codeOf("this.depart();")).toContain("depart");
    expect(sources.size).toBeGreaterThan(500);
  });

  it("has each word in the list of CONTRIBUTING", () => {
    const list = readFileSync(path.join(ROOT, "CONTRIBUTING.md"), "utf8");
    for (const word of Object.keys(REPLACED)) expect(list).toContain(`| ${word} |`);
  });
});
