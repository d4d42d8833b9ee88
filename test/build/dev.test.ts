// `npm run dev` with a wrangler and a vite that only start a process of their own and stay, and migrations that are
// applied: whatever ends it, nothing is left.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");

/** Writes its own id and that of its child, as wrangler has one in workerd. */
const TOOL = `#!/usr/bin/env node
const { spawn } = require("node:child_process");
const { appendFileSync } = require("node:fs");
const args = process.argv.slice(2);
const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
appendFileSync("started.jsonl", JSON.stringify({ args, pids: [process.pid, child.pid] }) + "\\n");
process.on("SIGTERM", () => {});
setInterval(() => {}, 1000);
`;
const MINIFLARE = `exports.convertV4MiniflareOptions = (options) => options;
exports.Miniflare = class {
  constructor({ resourcePersistencePath }) {
    require("node:fs").writeFileSync("migrated", resourcePersistencePath);
  }
  dispatchFetch = async () => new Response();
  async dispose() {}
};
`;
const STATE = ["--local-upstream", "a.test", "--persist-to", "elsewhere"];
const LINKED = [
  "contract",
  "dashboard",
  "dist",
  "domain",
  "durable-objects",
  "log",
  "migrations",
  "providers",
  "python",
  "self-host",
  "src",
];

interface Started {
  readonly args: readonly string[];
  readonly pids: readonly number[];
}

const folder = folderForEachTest();
let dev: ChildProcess;

const started = (): Started[] => {
  const file = path.join(folder.path, "started.jsonl");
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Started);
};

/** What has ended may wait for a busy system to take note of it. */
const hasEnded = (pid: number): boolean => {
  const file = `/proc/${pid}/stat`;
  return existsSync(file) && readFileSync(file, "utf8").includes(") Z ");
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return !hasEnded(pid);
  } catch {
    return false;
  }
};

beforeEach(async () => {
  for (const name of [
    ...LINKED,
    "scripts",
    "worker",
    "cli",
    "sdk",
    "package.json",
    "package-lock.json",
    "wrangler.toml",
    "tsconfig.base.json",
    "LICENSE",
  ])
    symlinkSync(path.join(ROOT, name), path.join(folder.path, name));
  mkdirSync(path.join(folder.path, "node_modules/.bin"), { recursive: true });
  for (const tool of ["wrangler", "vite"])
    writeFileSync(path.join(folder.path, "node_modules/.bin", tool), TOOL, { mode: 0o755 });
  mkdirSync(path.join(folder.path, "node_modules/miniflare"));
  writeFileSync(path.join(folder.path, "node_modules/miniflare/index.js"), MINIFLARE);
  dev = spawn(
    process.execPath,
    [
      "--disable-warning=ExperimentalWarning",
      "--preserve-symlinks",
      "--preserve-symlinks-main",
      "scripts/dev.ts",
      ...STATE,
    ],
    { cwd: folder.path, stdio: "ignore" },
  );
  await eventually(() => expect(started()).toHaveLength(2));
}, 60_000);

afterEach(() => {
  for (const pid of [dev.pid ?? 0, ...started().flatMap(({ pids }) => pids)].filter((one) => one > 0 && isAlive(one)))
    process.kill(pid, "SIGKILL");
});

it.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)("ends with what its tools started after %s", async (signal) => {
  dev.kill(signal);
  const left = () => started().flatMap(({ pids }) => pids.filter(isAlive));
  await eventually(() => expect(left()).toEqual([]));
});

it("ends when its edge does, and keeps the package beside the dashboard that is built again", async () => {
  const vite = started().find(({ args }) => args.includes("--watch"));
  expect(vite?.args).not.toContain("--emptyOutDir");
  const edge = started().find(({ args }) => args[0] === "dev");
  process.kill(edge?.pids[0] ?? 0, "SIGKILL");
  await eventually(() => expect(started().flatMap(({ pids }) => pids.filter(isAlive))).toEqual([]));
});

it("migrates the state that its edge is told to use", () => {
  expect(started().find(({ args }) => args[0] === "dev")?.args).toEqual(expect.arrayContaining(STATE));
  expect(readFileSync(path.join(folder.path, "migrated"), "utf8")).toBe(path.join(folder.path, "elsewhere/v3"));
});
