// A command whose output goes to a full disk.

import { spawnSync } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import { expect, test } from "vitest";
import { SIGNALBOX } from "../support/command-line.ts";

test.skipIf(!existsSync("/dev/full"))("one sentence says that stdout cannot be written, and the command fails", () => {
  const { status, stderr } = spawnSync(process.execPath, [SIGNALBOX, "--help"], {
    stdio: ["ignore", openSync("/dev/full", "w"), "pipe"],
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([1, "stdout cannot be written: the disk is full\n"]);
});
