// After a burst a server's databases are mostly free pages: the next start gives them back, and everything is readable.

import { statSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../contract/client.ts";
import { compactDatabases, obstacleOf } from "../../self-host/data/compact.ts";
import { dataDirAt, makeStateFolders } from "../../self-host/data/data-dir.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";
import { historyFile, tenantFiles, use } from "../upgrade/databases.ts";

const MIB = 1024 * 1024;
const MANY_MIB = 80;

const data = folderForEachTest();
let server: SelfHosted | null = null;

afterEach(async () => {
  await server?.kill();
  server = null;
});

/** What a burst leaves behind. */
const burst = (db: DatabaseSync): void =>
  db.exec(`CREATE TABLE burst (bytes BLOB); BEGIN;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MANY_MIB})
    INSERT INTO burst SELECT zeroblob(${MIB}) FROM n; COMMIT; DROP TABLE burst`);

const pragmas = (db: DatabaseSync) =>
  ["page_size", "journal_mode", "user_version", "application_id", "auto_vacuum", "integrity_check"].map((name) =>
    Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {}),
  );

test("a tenant's file and the history's are small again after a start, and serve on", async () => {
  const start = () => startSelfHosted(data.path, { env: { SERVICE_CATALOG_SYNC: "0" } });
  server = await start();
  const before = createClient({ url: server.url, key: server.adminKey });
  await before.workers.report({ instance: "w", provider: "p", status: "online", tags: "", concurrency: 9 });
  const { id: done, lease } = await before.jobs.dispatch({ prompt: "a finished zebra" });
  await before.jobs.complete(done, { lease, result: "kept" });
  const { id: open } = await before.jobs.create({ prompt: "an open one", tags: ["none-has-it"] });
  expect((await before.jobs.list({ q: "zebra" })).total).toBe(1);
  expect(await server.stop()).toBe(0);

  const files = [historyFile(data.path), tenantFiles(data.path).get("default") ?? ""];
  const known = files.map((file) => use(file, pragmas));
  for (const file of files) {
    use(file, burst);
    expect(statSync(file).size).toBeGreaterThan(MANY_MIB * MIB);
  }
  server = await start();
  for (const file of files) expect(statSync(file).size).toBeLessThan(4 * MIB);
  expect(server.output().match(/database\.compacted/g)).toHaveLength(2);
  const { jobs } = createClient({ url: server.url, key: server.adminKey });
  expect(await jobs.get(done)).toMatchObject({ status: "completed", prompt: "a finished zebra", result: "kept" });
  expect(await jobs.get(open)).toMatchObject({ status: "pending", prompt: "an open one" });
  expect((await jobs.list({ q: "zebra" })).jobs.map(({ id }) => id)).toEqual([done]);
  const { id: next } = await jobs.create({ prompt: "a new zebra" });
  expect((await jobs.list({ q: "zebra" })).jobs.map(({ id }) => id)).toEqual([next, done]);
  expect(await server.stop()).toBe(0);
  server = null;
  expect(files.map((file) => use(file, pragmas))).toEqual(known);
}, 60_000);

test("what takes long waits for its operator, and what the disk has no room for stays", () => {
  expect(obstacleOf(60 * MIB, 1_000 * MIB, "quick")).toBeNull();
  expect(obstacleOf(300 * MIB, 1_000 * MIB, "quick")).toContain("SERVICE_COMPACT=1");
  expect(obstacleOf(300 * MIB, 1_000 * MIB, "always")).toBeNull();
  expect(obstacleOf(200 * MIB, 400 * MIB, "always")).toContain("too little room");
});

test("a file that is mostly in use, or small, or locked, or not to be compacted, stays as it is", () => {
  const dir = dataDirAt(data.path);
  makeStateFolders(dir);
  const file = path.join(dir.objects, "one.sqlite");
  const fill = (usedMib: number): number => {
    use(file, (db) => {
      db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS kept (bytes BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${usedMib})
        INSERT INTO kept SELECT zeroblob(${MIB}) FROM n`);
      burst(db);
    });
    return statSync(file).size;
  };
  const sizeAfter = (how: "always" | "quick" | "never"): number => {
    compactDatabases(dir, [file], how);
    return statSync(file).size;
  };
  const size = fill(1);
  expect(sizeAfter("never")).toBe(size);
  const reader = new DatabaseSync(file);
  reader.exec("BEGIN; SELECT * FROM kept");
  reader.prepare("SELECT COUNT(*) FROM kept").get();
  sizeAfter("quick");
  reader.exec("COMMIT");
  reader.close();
  expect(sizeAfter("quick")).toBeLessThan(4 * MIB);
  // More is in use than is free.
  const full = fill(2 * MANY_MIB);
  expect(sizeAfter("always")).toBe(full);
}, 30_000);
