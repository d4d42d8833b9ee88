// What git has of this checkout: nothing by accident. Without git, as in a copy of the tree, nothing is known.

import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");

/** What stands at the top, and why it must stand there. A new name needs a reason here. */
const TOP: Readonly<Record<string, string>> = {
  ".ci": "CI looks for its command there",
  ".devcontainer": "editors look for the container of a checkout there",
  ".dockerignore": "docker reads it beside the Dockerfile",
  ".editorconfig": "editors read it at the top",
  ".gitattributes": "of the whole tree",
  ".github": "GitHub looks for its workflows there",
  ".gitignore": "of the whole tree",
  "CHANGELOG.md": "for who upgrades",
  "CONTRIBUTING.md": "for who changes something",
  Dockerfile: "docker build looks for it",
  LICENSE: "the licence of all",
  "README.md": "the door",
  "SECURITY.md": "GitHub shows it to who finds a hole",
  bench: "a room: benchmarks",
  "biome.json": "format and lint of the whole tree",
  cli: "a room: the command line of the package",
  "compose.yaml": "docker compose looks for it",
  contract: "a room: the API",
  dashboard: "a room: the single-page app",
  docs: "pages for who uses or operates it",
  domain: "a room: the rules",
  "drizzle.config.ts": "drizzle-kit looks for it",
  "durable-objects": "a room: the tenant",
  "exec.cmd": "`npm start` begins with exec, which npm's shell on Windows looks for in the current folder",
  log: "a room: every other writes its log with it",
  migrations: "a room: the schema of D1; wrangler looks for it",
  "package-lock.json": "npm's",
  "package.json": "npm's",
  providers: "a room: the catalog's files",
  python: "the package for Python",
  scripts: "a room: one file for each command",
  sdk: "a room: the library of the package",
  "self-host": "a room: the same app in Node",
  src: "a room: the edge",
  test: "the tests of all rooms",
  "tsconfig.base.json": "what the types of all rooms share",
  "tsconfig.json": "of the rooms that run in workerd, and of those in Node that know them; editors look for it",
  "vitest.config.ts": "vitest looks for it",
  worker: "a room: the process that runs jobs",
  "wrangler.toml": "wrangler looks for it",
};

/** The mark of a typed package is an empty file (PEP 561). */
const MAY_BE_EMPTY = ["python/signalbox/py.typed"];

const { status, stdout } = spawnSync("git", ["ls-files", "-z", "--deduplicate"], { cwd: ROOT, encoding: "utf8" });
const tracked = status === 0 ? stdout.split("\0").filter((file) => file !== "") : [];

const isEmpty = (file: string): boolean => statSync(path.join(ROOT, file), { throwIfNoEntry: false })?.size === 0;

it.skipIf(tracked.length === 0)("stands at the top only for a reason", () => {
  const top = new Set(tracked.map((file) => file.split("/", 1)[0]));
  expect([...top].sort()).toEqual(Object.keys(TOP).sort());
});

it.skipIf(tracked.length === 0)("has the same lines on every system, whatever git's settings there", () => {
  const { stdout: shown } = spawnSync("git", ["check-attr", "text", "eol", "--", "exec.cmd"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect(shown.trim().split("\n")).toEqual(["exec.cmd: text: auto", "exec.cmd: eol: lf"]);
});

it.skipIf(tracked.length === 0)("has no empty file", () => {
  expect(tracked.filter(isEmpty)).toEqual(MAY_BE_EMPTY);
});
