// The table of what an outsider can make grow: every room's rows are read, and each is held to what it says.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { WIRE } from "../../contract/refusal.ts";
import type { GrowthRow } from "../../domain/words/growth.ts";
import { SCHEMA_STEPS } from "../../durable-objects/store/schema/schema.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const PLACES = "{durable-objects,src,scripts,self-host}/**/growth.ts";

const rows: GrowthRow[] = [];
for await (const file of glob(PLACES, { cwd: ROOT })) {
  const room = (await import(path.join(ROOT, file))) as { GROWTH: readonly GrowthRow[] };
  rows.push(...room.GROWTH);
}

const holds = new Set(rows.flatMap((row) => row.holds));

/** Without the tables that an index for search keeps for itself, and its vocabulary, a view that holds nothing. */
const LISTED = `SELECT name FROM pragma_table_list JOIN sqlite_schema USING (name)
  WHERE schema = 'main' AND pragma_table_list.type IN ('table', 'virtual') AND sql NOT LIKE '%USING fts5vocab%' ORDER BY name`;

/** A map or set that outlives a call: a field of a class, or a constant of a file. */
const KEPT =
  /^(?: {2}(?:private |readonly |static )+|(?:export )?const )#?(\w+)(?::[^=\n]+)? = new (?:Map|Set)(?:<.*>)?\(\);/gm;
const INTERFACE = /^(?:export )?interface (\w+) \{\n(.*?)^\}/gms;
const FIELD = /^ {2}(?:readonly )?(\w+): (.*);/gm;

/** The maps and sets of a tenant's memory, those of its parts included. */
const placesOfMemory = async (): Promise<string[]> => {
  const interfaces = new Map<string, string>();
  for await (const file of glob("durable-objects/turn/memory/*memory.ts", { cwd: ROOT }))
    for (const [, name = "", fields = ""] of readFileSync(path.join(ROOT, file), "utf8").matchAll(INTERFACE))
      interfaces.set(name, fields);
  const placesOf = (name: string, place: string): string[] =>
    [...(interfaces.get(name) ?? "").matchAll(FIELD)].flatMap(([, field, type = ""]) =>
      /(?:Map|Set)</.test(type) ? [`${place}.${field}`] : placesOf(type, `${place}.${field}`),
    );
  return placesOf("Memory", "memory");
};

/** Nobody outside can make these grow. */
const FIXED = new Set([
  // The members of a body that were looked for.
  "src/front-door/request/json-outline.ts#members",
  // The routes, and the signing secrets.
  ...["src/http/path-router.ts#handlers", "src/http/key-format.ts#macKeys"],
]);

/** The tables that are there once all statements have run. */
const tablesAfter = (statements: readonly string[]): string[] => {
  const database = new DatabaseSync(":memory:");
  for (const statement of statements) database.exec(statement);
  const named = database.prepare(LISTED).all();
  database.close();
  return named.map(({ name }) => String(name)).filter((name) => !name.startsWith("sqlite_"));
};

describe("what an outsider can make grow", () => {
  it("stands in one table, each thing once", () => {
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map(({ what }) => what)).size).toBe(rows.length);
  });

  it("has a row for every table of a tenant's object, and of history", () => {
    const migrations = readdirSync(path.join(ROOT, "migrations")).filter((name) => name.endsWith(".sql"));
    const history = migrations.sort().map((name) => readFileSync(path.join(ROOT, "migrations", name), "utf8"));
    const without = (kind: string, tables: string[]) => tables.filter((name) => !holds.has(`${kind} ${name}`));
    expect(without("table", tablesAfter(SCHEMA_STEPS.flat()))).toEqual([]);
    expect(without("history table", tablesAfter(history))).toEqual([]);
  });

  it("has a row for every map and set that a class or a file keeps, and every one of a tenant's memory", async () => {
    const kept: string[] = [];
    for await (const file of glob("{durable-objects,src,self-host}/**/*.ts", { cwd: ROOT })) {
      const text = readFileSync(path.join(ROOT, file), "utf8");
      for (const [, name] of text.matchAll(KEPT)) kept.push(`${file}#${name}`);
    }
    const ofMemory = await placesOfMemory();
    expect(ofMemory.length).toBeGreaterThan(15);
    kept.push(...ofMemory);
    expect(kept.filter((place) => !holds.has(place) && !FIXED.has(place))).toEqual([]);
    expect([...FIXED].filter((place) => !kept.includes(place))).toEqual([]);
  });

  it("is refused as the page of limits says", () => {
    const limits = readFileSync(path.join(ROOT, "docs/limits.md"), "utf8");
    const codes = new Set(rows.flatMap(({ atTheBound }) => ("refuses" in atTheBound ? [atTheBound.refuses] : [])));
    // The page gives their status.
    for (const usual of ["forbidden", "invalid_request"] as const) codes.delete(usual);
    expect([...codes].filter((code) => !limits.includes(`\`${code}\``))).toEqual([]);
  });

  it.each(rows)("$what: has a bound, a refusal that exists, one who counts, and a test", (row) => {
    expect(row.bound).toBeGreaterThan(0);
    if ("refuses" in row.atTheBound) expect(WIRE).toHaveProperty(row.atTheBound.refuses);
    expect(existsSync(path.join(ROOT, row.countedBy))).toBe(true);
    const [file, name] = row.provenBy;
    // A single word stands in many tests.
    expect(name).toMatch(/\S \S/);
    expect(readFileSync(path.join(ROOT, file), "utf8")).toContain(name);
  });
});
