// The databases of history: their names, and which one a new tenant gets.

import { expect, it } from "vitest";
import {
  bindingOf,
  boundDatabases,
  databaseNumber,
  databaseOf,
  emptiestDatabase,
  MAX_DATABASES,
} from "../../../domain/tenant/tenant-database.ts";

it("a binding's name and its number say the same, and nothing else is one", () => {
  for (let number = 0; number < MAX_DATABASES; number += 1) expect(databaseNumber(bindingOf(number))).toBe(number);
  for (const text of ["", "DB_", "DB_0", "DB_01", `DB_${MAX_DATABASES}`, "DB_1x", "leaving", "left", "arriving"])
    expect(databaseNumber(text)).toBeNull();
});

it("a number that is not bound finds nothing, also where others are bound", () => {
  const bound = { DB: "first", DB_2: "third" };
  expect([0, 1, 2].map((number) => databaseOf(bound, number))).toEqual(["first", undefined, "third"]);
  expect(boundDatabases(bound)).toEqual([
    { number: 0, database: "first" },
    { number: 2, database: "third" },
  ]);
});

const GB = 1e9;
const use = (number: number, bytes: number, tenants: number) => ({ number, bytes, tenants });

it.each([
  ["the one with the fewest bytes", [use(0, 3 * GB, 1), use(1, 1 * GB, 90), use(2, 2 * GB, 1)], 1],
  ["of about as many bytes, the one with the fewest tenants", [use(0, 9_000_000, 4), use(1, 50_000, 5)], 0],
  ["of equal ones the first", [use(2, 0, 3), use(1, 0, 3)], 1],
  ["the only one", [use(0, 10 * GB, 1)], 0],
])("a new tenant goes to %s", (_what, uses, number) => {
  expect(emptiestDatabase(uses)).toBe(number);
});
