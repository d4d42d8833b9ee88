// A tenant's rows are in one of several databases: a query of `DB` itself reads the wrong one for some tenants.

import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { filesBelow } from "../../self-host/files-below.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

/** Why each may name it. */
const MAY_NAME_DB: Readonly<Record<string, string>> = {
  "src/history/tenants.ts": "the names of all tenants are there",
  "src/routes/tenants/tenants.ts": "lists these names",
  "src/minute.ts": "a task's environment has the database that it does as `DB`",
};

it("only what is about all tenants names the first database; the rest asks historyOf", () => {
  const naming = ["src", "durable-objects"]
    .flatMap((room) => filesBelow(path.join(ROOT, room)))
    .filter((file) => /\benv\.DB\b|\bDB: \w+ \}: Env\b/.test(readFileSync(file, "utf8")))
    .map((file) => path.relative(ROOT, file));
  expect(naming.sort()).toEqual(Object.keys(MAY_NAME_DB).sort());
});
