// A command whose output goes to a full disk.

import { spawnSync } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const MAIN = path.resolve(import.meta.dirname, "../../cli/main.ts");

test.skipIf(!existsSync("/dev/full"))("one sentence says that stdout cannot be written, and the command fails", () => {
  const { status, stderr } = spawnSync(process.execPath, ["--no-warnings", MAIN, "--help"], {
    stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([1, "stdout cannot be written: the disk is full\n"]);
});
