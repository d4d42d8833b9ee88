// One process of a checkout at a time installs, and one builds.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { withLock } from "../../scripts/lock.mjs";
import { folderForEachTest } from "../support/temporary-folder.ts";

const checkout = folderForEachTest();
const LOCK = pathToFileURL(path.resolve(import.meta.dirname, "../../scripts/lock.mjs")).href;

/** Leaves a file of its own for as long as it works, and says how many were there with it. */
const WORKER = `
  import { readdirSync, rmSync, writeFileSync } from "node:fs";
  import { withLock } from "${LOCK}";
  const [, folder, name] = process.argv;
  await withLock("test", folder, async () => {
    writeFileSync(folder + "/" + name, "");
    await new Promise((resolve) => setTimeout(resolve, 100));
    console.log(readdirSync(folder).filter((one) => one !== "dist").length);
    rmSync(folder + "/" + name);
  });`;

const worker = (name: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const args = ["--input-type=module", "--eval", WORKER, "--", checkout.path, name];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    child.stdout.on("data", (part) => {
      said += part;
    });
    child.on("error", reject);
    child.on("close", () => resolve(said.trim()));
  });

it("two that begin together work one after the other", async () => {
  expect(await Promise.all([worker("a"), worker("b"), worker("c")])).toEqual(["1", "1", "1"]);
});

it("the lock of a process that is gone is taken over, and none is left", async () => {
  const lock = path.join(checkout.path, "dist/gone.lock");
  const dead = spawnSync(process.execPath, ["--eval", ""]).pid;
  mkdirSync(lock, { recursive: true });
  writeFileSync(path.join(lock, "pid"), String(dead));
  expect(await withLock("gone", checkout.path, async () => existsSync(lock))).toBe(true);
  expect(existsSync(lock)).toBe(false);
});

it("nothing of it lies among temporary files, where another user could make it first", async () => {
  const temporary = path.join(checkout.path, "tmp");
  mkdirSync(temporary);
  vi.stubEnv("TMPDIR", temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await withLock("here", checkout.path, async () => readdirSync(temporary))).toEqual([]);
});
