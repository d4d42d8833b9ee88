// One process of a checkout at a time installs, and one builds.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { withLock } from "../../scripts/lock.mjs";
import { freshWith } from "../support/fresh-modules.ts";
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

const left = (name: string, pid: number): string => {
  const lock = path.join(checkout.path, `dist/${name}.lock`);
  mkdirSync(lock, { recursive: true });
  writeFileSync(path.join(lock, "pid"), String(pid));
  return lock;
};

it("the lock of a process that is gone is taken over, and none is left", async () => {
  const lock = left("gone", spawnSync(process.execPath, ["--eval", ""]).pid);
  expect(await withLock("gone", checkout.path, async () => existsSync(lock))).toBe(true);
  expect(existsSync(lock)).toBe(false);
});

it("a lock from before the machine started is taken over, whoever has its process's number now", async () => {
  const lock = left("old", process.ppid);
  utimesSync(lock, 0, 0);
  expect(await withLock("old", checkout.path, async () => "worked")).toBe("worked");
});

it("a lock that was left in a checkout that cannot be written holds nobody up", async () => {
  left("kept", spawnSync(process.execPath, ["--eval", ""]).pid);
  const rmSync = () => {
    throw Object.assign(new Error("permission denied"), { code: "EACCES" });
  };
  const unwritable = async (original: () => Promise<object>) => ({ ...(await original()), rmSync });
  const fresh = await freshWith("node:fs", unwritable, () => import("../../scripts/lock.mjs"));
  expect(await fresh.withLock("kept", checkout.path, async () => "worked")).toBe("worked");
});

it("nothing of it lies among temporary files, where another user could make it first", async () => {
  const temporary = path.join(checkout.path, "tmp");
  mkdirSync(temporary);
  vi.stubEnv("TMPDIR", temporary);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await withLock("here", checkout.path, async () => readdirSync(temporary))).toEqual([]);
});
