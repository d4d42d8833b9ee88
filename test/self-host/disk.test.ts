// What counts as a full disk, and the message of a start that it stops.

import { mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { dataDirAt } from "../../self-host/data/data-dir.ts";
import { diskState, fullDiskError } from "../../self-host/data/disk.ts";
import { keepProcessCount } from "../../self-host/data/process-count.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const folder = folderForEachTest();
const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

test.each([
  ["ample room", 100 * GIB, 500 * GIB, "ok"],
  ["two gigabytes of a large disk", 2 * GIB, 500 * GIB, "ok"],
  ["less than one", 1023 * MIB, 500 * GIB, "low"],
  ["enough to end work", 64 * MIB, 500 * GIB, "low"],
  ["what is kept to end work", 64 * MIB - 1, 500 * GIB, "full"],
  ["nothing", 0, 500 * GIB, "full"],
  ["a small disk that is empty", 190 * MIB, 200 * MIB, "ok"],
  ["a tenth of a small disk", 19 * MIB, 200 * MIB, "low"],
  ["a twentieth of a small disk", 9 * MIB, 200 * MIB, "full"],
] as const)("%s", (_, free, total, state) => {
  expect(diskState(free, total)).toBe(state);
});

test.each(["0", "-1", "1.5", "65", "1e6", '"2"'])("%s processes are none that a folder can have", (count) => {
  const dir = dataDirAt(folder.path);
  mkdirSync(dir.state);
  writeFileSync(dir.processCount, `{"count":${count}}`);
  expect(() => keepProcessCount(dir, undefined)).toThrow("processes.json is damaged");
});

test("a start that a full disk stops says so in a sentence, whatever found it first", () => {
  const directory = path.join(tmpdir(), "not", "made", "yet");
  for (const message of ["database or disk is full", "ENOSPC: no space left on device, write", "x: SQLITE_FULL"]) {
    expect(fullDiskError(new Error(message), directory)?.message).toMatch(
      /^The disk that holds .* is full \(\d+ MiB left\): /,
    );
  }
  expect(fullDiskError(new Error("another failure"), directory)).toBe(null);
});
