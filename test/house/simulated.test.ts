// The simulator makes every operation of a tenant, or says why not.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { NOT_SIMULATED } from "../simulation/reach.ts";

const ROOT = path.join(import.meta.dirname, "../..");
const ACTORS = path.join(ROOT, "test/simulation/actors");

/** The table's own text: loading it needs the platform. */
const operations = [
  ...readFileSync(path.join(ROOT, "durable-objects/api.ts"), "utf8").matchAll(/^ {2}(\w+): operation\(/gm),
].map(([, name = ""]) => name);

const acted = readdirSync(ACTORS)
  .map((name) => readFileSync(path.join(ACTORS, name), "utf8"))
  .join("\n");

const isMade = (name: string): boolean => acted.includes(`"${name}"`);

it("an actor makes each operation that is not left out with a reason", () => {
  expect(operations.length).toBeGreaterThan(100);
  expect(operations.filter((name) => !isMade(name) && !(name in NOT_SIMULATED))).toEqual([]);
});

it("what is left out is an operation, and no actor makes it", () => {
  const left = Object.keys(NOT_SIMULATED);
  expect(left.filter((name) => !operations.includes(name))).toEqual([]);
  expect(left.filter(isMade)).toEqual([]);
});
