// An object that has deleted all it had leaves a file of one page: the next start removes it, and no backup has it.

import { existsSync, mkdirSync, readdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { createClient } from "../../contract/client.ts";
import { isEmptied } from "../../self-host/data/emptied.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const data = folderForEachTest();
let server: SelfHosted | null = null;

afterEach(async () => {
  await server?.kill();
  server = null;
});

const made = (name: string, sql: string): string => {
  mkdirSync(data.path, { recursive: true });
  const file = path.join(data.path, name);
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; ${sql}`);
  db.close();
  return file;
};

test("only a database without a table is empty", () => {
  expect(isEmptied(made("gone.sqlite", "CREATE TABLE t (x); DROP TABLE t; VACUUM"))).toBe(true);
  expect(isEmptied(made("table.sqlite", "CREATE TABLE t (x)"))).toBe(false);
  expect(isEmptied(made("view.sqlite", "CREATE VIEW v AS SELECT 1"))).toBe(false);
});

test("a file that was written and not yet taken over from its log is not empty", () => {
  const file = path.join(data.path, "open.sqlite");
  made("open.sqlite", "CREATE TABLE t (x); DROP TABLE t; VACUUM");
  const open = new DatabaseSync(file);
  open.exec("CREATE TABLE kept (x)");
  expect(isEmptied(file)).toBe(false);
  open.close();
});

test("a start removes what a deleted large file left, and everything else stays", async () => {
  const start = () => startSelfHosted(data.path, { env: { SERVICE_CATALOG_SYNC: "0" } });
  server = await start();
  const before = createClient({ url: server.url, key: server.adminKey });
  const large = (name: string) => before.files.create(new Blob([new Uint8Array(700_000)]), { name });
  const [kept, dropped] = [await large("kept"), await large("dropped")];
  await before.files.remove(dropped.id);
  expect(await server.stop()).toBe(0);

  const folder = path.join(data.path, "state/objects/signalbox-StoredFile");
  const files = () => readdirSync(folder).filter((name) => name.endsWith(".sqlite") && name !== "metadata.sqlite");
  expect(files()).toHaveLength(2);
  server = await start();
  expect(files()).toHaveLength(1);
  const { files: found } = createClient({ url: server.url, key: server.adminKey });
  expect((await found.list()).files.map(({ id }) => id)).toEqual([kept.id]);
  expect(existsSync(path.join(folder, files()[0] ?? ""))).toBe(true);
});
