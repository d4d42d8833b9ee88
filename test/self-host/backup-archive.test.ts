// What a backup's archive holds, and which archives are restored: on a data folder of two small databases.

import { execFile } from "node:child_process";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { beforeEach, expect, test } from "vitest";
import { copyData } from "../../scripts/backup/copy-data.ts";
import { TAR_END } from "../../self-host/build/tar.ts";
import { dataDirAt } from "../../self-host/data/data-dir.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const DATABASES = ["state/objects/tenant/one.sqlite", "state/d1/history/two.sqlite"];
const BESIDE = ["root.key", "signing.secret", "default.admin.key", "written-by.json", "processes.json"];
const ROWS = 2_000;

const folder = folderForEachTest();
const at = (...names: string[]): string => path.join(folder.path, ...names);

beforeEach(() => {
  for (const name of DATABASES) {
    mkdirSync(path.dirname(at("data", name)), { recursive: true });
    const database = new DatabaseSync(at("data", name));
    database.exec("PRAGMA journal_mode = WAL; CREATE TABLE counted (n INTEGER, filler TEXT)");
    database.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
       INSERT INTO counted SELECT 0, hex(randomblob(200)) FROM n`,
    );
    database.close();
  }
  for (const name of BESIDE) writeFileSync(at("data", name), name.endsWith(".json") ? '{"object_schema":1}' : "secret");
});

const script = (name: string, dataDir: string) =>
  promisify(execFile)(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", `scripts/${name}.ts`, at("copy.tar")],
    { cwd: ROOT, env: { ...process.env, SERVICE_DATA_DIR: at(dataDir) } },
  );

const refusal = async (): Promise<string> => {
  const failed = await script("restore", "restored").then(
    () => null,
    (error: { code: number; stderr: string }) => error,
  );
  expect(failed?.code).toBe(1);
  expect(readdirSync(folder.path).filter((name) => name.startsWith("restored"))).toEqual([]);
  return failed?.stderr ?? "";
};

test("all databases are as of one instant, whatever is written while they are copied", async () => {
  mkdirSync(at("copy"));
  const writers = DATABASES.map((name) => new DatabaseSync(at("data", name)));
  const copied = copyData(dataDirAt(at("data")), at("copy"));
  for (const writer of writers) writer.exec("UPDATE counted SET n = 1");
  await copied;
  for (const writer of writers) writer.close();
  const counts = DATABASES.map((name) => {
    const database = new DatabaseSync(at("copy", name));
    const row = database.prepare("SELECT COUNT(*) AS rows, SUM(n) AS changed FROM counted").get();
    database.close();
    return row;
  });
  expect(counts).toEqual(DATABASES.map(() => ({ rows: ROWS, changed: 0 })));
});

test("every key and mark comes along, also how many processes share the folder", async () => {
  await script("backup", "data");
  await script("restore", "restored");
  for (const name of BESIDE) expect(readFileSync(at("restored", name))).toEqual(readFileSync(at("data", name)));
  for (const name of DATABASES) expect(existsSync(at("restored", name))).toBe(true);
});

test("a part of the archive that goes with its tenant while it is copied is left out", async () => {
  const part = (name: string) => at("data", "archive", "acme", "2026-11-23", `${name}.ndjson.gz`);
  mkdirSync(path.dirname(part("a")), { recursive: true });
  for (const name of ["a", "b"]) writeFileSync(part(name), "part");
  mkdirSync(at("copy"));
  const copied = copyData(dataDirAt(at("data")), at("copy"));
  rmSync(part("a"));
  const { files } = await copied;
  expect(files.filter((name) => name.startsWith("archive"))).toEqual(["archive/acme/2026-11-23/b.ndjson.gz"]);
});

test("an empty folder that is there stays itself, as a mount must, and what it gets is its owner's", async () => {
  await script("backup", "data");
  const root = at("restored");
  mkdirSync(root);
  // What an interrupted restore has left, and what the root of a disk has.
  for (const name of [".restoring", "lost+found"]) mkdirSync(path.join(root, name));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(root, 65_534, 65_534);
  const before = statSync(root);
  await script("restore", "restored");
  expect(statSync(root).ino).toBe(before.ino);
  expect(readdirSync(root)).toEqual(expect.arrayContaining(BESIDE));
  expect(readdirSync(root)).not.toContain(".restoring");
  for (const name of [...BESIDE, ...DATABASES]) expect(statSync(path.join(root, name)).uid).toBe(before.uid);
});

test("an archive that is cut off, or has a damaged database, is not restored, and leaves nothing", async () => {
  await script("backup", "data");
  const whole = readFileSync(at("copy.tar"));
  const damaged = Buffer.from(whole);
  damaged.fill(0xff, whole.length - 200_000, whole.length - 100_000);
  writeFileSync(at("copy.tar"), damaged);
  expect(await refusal()).toMatch(/damaged/);
  // What no check of a database finds: a text in a row, a key.
  for (const what of [/[0-9A-F]{300}/, /\0secret\0/]) {
    const changed = Buffer.from(whole);
    changed.write("!", whole.toString("latin1").search(what) + 1);
    writeFileSync(at("copy.tar"), changed);
    expect(await refusal()).toMatch(/copy\.tar is damaged: \S+ in it is not as it was backed up\.\n$/);
  }
  writeFileSync(at("copy.tar"), Buffer.alloc(10_240));
  expect(await refusal()).toContain("is not an archive of `npm run backup`");
  writeFileSync(at("copy.tar"), whole);
  truncateSync(at("copy.tar"), whole.length - 100_000);
  expect(await refusal()).toContain("truncated");
});

test("the archive of a release that kept no digests is restored", async () => {
  await script("backup", "data");
  const whole = readFileSync(at("copy.tar"));
  writeFileSync(at("copy.tar"), Buffer.concat([whole.subarray(0, whole.indexOf("SHA256SUMS\0")), TAR_END]));
  await script("restore", "restored");
  expect(readdirSync(at("restored")).toSorted()).toEqual([...BESIDE, "state"].toSorted());
});

test("a damaged database in such an archive is found by SQLite's own check", async () => {
  await script("backup", "data");
  const whole = readFileSync(at("copy.tar"));
  const old = Buffer.concat([whole.subarray(0, whole.indexOf("SHA256SUMS\0")), TAR_END]);
  old.fill(0xff, whole.length - 200_000, whole.length - 100_000);
  writeFileSync(at("copy.tar"), old);
  expect(await refusal()).toMatch(/\.sqlite in the archive is damaged: /);
});

test("the archive of a newer release is not restored", async () => {
  writeFileSync(at("data", "written-by.json"), JSON.stringify({ release: "99.0.0", object_schema: 9_999 }));
  await script("backup", "data");
  expect(await refusal()).toContain("Signalbox 99.0.0 has written");
});
