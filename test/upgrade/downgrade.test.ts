// The way back is a backup: an older release refuses what a newer one has written, says so, and changes nothing.

import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { VERSION } from "../../contract/words/version.ts";
import { SCHEMA_VERSION } from "../../durable-objects/store/schema/schema.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";
import { clientOf } from "./client.ts";
import { historyFile, tenantFiles, use } from "./databases.ts";
import { FIXTURE_ENVIRONMENT, readExpectations, unpack } from "./fixture.ts";

const data = folderForEachTest();
let server: SelfHosted | null = null;

beforeEach(() => {
  unpack(VERSION, data.path);
});

afterEach(async () => {
  await server?.kill();
  server = null;
});

const start = async (): Promise<SelfHosted> => {
  server = await startSelfHosted(data.path, { env: FIXTURE_ENVIRONMENT });
  return server;
};

const appliedMigrations = () =>
  use(historyFile(data.path), (db) => db.prepare("SELECT name FROM d1_migrations ORDER BY id").all());

test("a folder that a newer release has served from is refused before anything is changed", async () => {
  const mark = path.join(data.path, "written-by.json");
  const newer = JSON.stringify({ release: "99.0.0", object_schema: SCHEMA_VERSION + 1 });
  writeFileSync(mark, newer);
  const before = appliedMigrations();
  await expect(start()).rejects.toThrow(/Signalbox 99\.0\.0 has written .* Nothing was changed/);
  expect(readFileSync(mark, "utf8")).toBe(newer);
  expect(appliedMigrations()).toEqual(before);
}, 60_000);

test("a history that a newer release has migrated is not served", async () => {
  use(historyFile(data.path), (db) => db.exec("INSERT INTO d1_migrations (name) VALUES ('9999_of_tomorrow.sql')"));
  const before = appliedMigrations();
  await expect(start()).rejects.toThrow(/newer release has migrated this database: 9999_of_tomorrow\.sql/);
  expect(appliedMigrations()).toEqual(before);
}, 60_000);

test("a tenant with tables of a newer release is left alone, and the others are served", async () => {
  const stepsOf = (file: string) => use(file, (db) => db.prepare("SELECT step FROM schema_steps ORDER BY step").all());
  const file = tenantFiles(data.path).get("steady") ?? "";
  use(file, (db) => db.exec(`INSERT INTO schema_steps (step) VALUES (${SCHEMA_VERSION})`));
  const before = stepsOf(file);
  const { steady, undrained } = readExpectations(VERSION);
  const at = await start();
  // Its object cannot start, which the edge sees as one that is away.
  expect((await clientOf(at.url, steady.admin_key).call("GET", "/killswitch")).status).toBe(503);
  expect((await clientOf(at.url, undrained.key).call("GET", "/killswitch")).status).toBe(200);
  expect(at.output()).toContain("tables are of a newer release");
  expect(await at.stop()).toBe(0);
  expect(stepsOf(file)).toEqual(before);
}, 60_000);
