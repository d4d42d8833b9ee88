// A data folder with files of another user, which an ordinary user finds after a start or a copy as root.

import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { folderForEachTest } from "../support/temporary-folder.ts";

const MODULE = path.resolve(import.meta.dirname, "../../self-host/data/data-dir.ts");
const NOBODY = 65_534;
const RUNS = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e"];
const SAYS = `const { dataDirAt, requireWritable } = await import(${JSON.stringify(MODULE)});
try { requireWritable(dataDirAt(process.argv[1])); console.log("fine"); } catch (error) { console.log(error.message); }`;

const folder = folderForEachTest();

test.skipIf(!existsSync("/proc/self"))("a place that takes no folders ends the start with what to do", () => {
  const lock = `const { dataDirAt, lockDataDir } = await import(${JSON.stringify(MODULE)});
await lockDataDir(dataDirAt("/proc/none/data")).catch(({ message }) => console.log(message));`;
  const { stdout } = spawnSync(process.execPath, [...RUNS, lock], { encoding: "utf8", timeout: 10_000 });
  expect(stdout).toMatch(
    /^The data folder \/proc\/none\/data cannot be used: ENOENT.+ Set SERVICE_DATA_DIR to another/,
  );
});

/** What an ordinary user is told; null where the tests may not become one that can read this checkout. */
const told = (): string | null => {
  const args = [...RUNS, SAYS, folder.path];
  const isRoot = process.getuid?.() === 0;
  const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", ...(isRoot ? { uid: NOBODY } : {}) });
  return stdout.trim() || null;
};

const give = (name: string): void => {
  const place = path.join(folder.path, name);
  if (process.getuid?.() === 0) chownSync(place, NOBODY, NOBODY);
};

test.skipIf(process.platform === "win32")("a file or folder of another user is named, with what to do", ({ skip }) => {
  mkdirSync(path.join(folder.path, "state/objects"), { recursive: true });
  writeFileSync(path.join(folder.path, "root.key"), "key\n", { mode: 0o600 });
  writeFileSync(path.join(folder.path, "state/objects/a.sqlite"), "", { mode: 0o600 });
  for (const name of [".", "state", "state/objects", "root.key", "state/objects/a.sqlite"]) give(name);
  const found = told();
  if (found === null) skip();
  expect(found).toBe("fine");
  for (const name of ["root.key", "state/objects/a.sqlite", "state/objects"]) {
    const place = path.join(folder.path, name);
    chmodSync(place, 0o000);
    expect(told()).toContain(`This user may not read and write ${place}. Give ${folder.path} and all that is in it`);
    chmodSync(place, 0o700);
  }
});
