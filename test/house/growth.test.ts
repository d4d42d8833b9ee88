// The table of what an outsider can make grow: every room's rows are read, and each is held to what it says.

import { existsSync, readFileSync } from "node:fs";
import { glob } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { WIRE } from "../../contract/refusal.ts";
import type { GrowthRow } from "../../domain/words/growth.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const PLACES = "{durable-objects,src,scripts,self-host}/**/growth.ts";

const rows: GrowthRow[] = [];
for await (const file of glob(PLACES, { cwd: ROOT })) {
  const room = (await import(path.join(ROOT, file))) as { GROWTH: readonly GrowthRow[] };
  rows.push(...room.GROWTH);
}

describe("what an outsider can make grow", () => {
  it("stands in one table, each thing once", () => {
    expect(rows.length).toBeGreaterThan(0);
    expect(new Set(rows.map(({ what }) => what)).size).toBe(rows.length);
  });

  it.each(rows)("$what: has a bound, a refusal that exists, one who counts, and a test", (row) => {
    expect(row.bound).toBeGreaterThan(0);
    if ("refuses" in row.atTheBound) expect(WIRE).toHaveProperty(row.atTheBound.refuses);
    expect(existsSync(path.join(ROOT, row.countedBy))).toBe(true);
    const [file, name] = row.provenBy;
    expect(readFileSync(path.join(ROOT, file), "utf8")).toContain(name);
  });
});
