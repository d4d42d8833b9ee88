// The start of every script, in a checkout whose packages are installed.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, expect, it } from "vitest";
import { folderForEachTest } from "../support/temporary-folder.ts";

const SCRIPTS = path.resolve(import.meta.dirname, "../../scripts");
const PLATFORM = `${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;

const checkout = folderForEachTest();

const write = (file: string, text: string, mode = 0o644): void => {
  const place = path.join(checkout.path, file);
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, text, { mode });
};

beforeEach(() => {
  for (const name of ["setup.mjs", "keep-serving.mjs", "lock.mjs", "usage.mjs"])
    cpSync(path.join(SCRIPTS, name), path.join(checkout.path, "scripts", name));
  write("package.json", "{}");
  write("package-lock.json", '{"packages": {"": {}}}');
  write("node_modules/.package-lock.json", '{"packages": {}}');
  write("hello.ts", 'const text: string = "hello";\nconsole.log(text, process.execPath);\n');
});

const start = (): string => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["scripts/setup.mjs", "hello.ts"], {
    cwd: checkout.path,
    encoding: "utf8",
  });
  expect([stderr, status]).toEqual(["", 0]);
  return stdout.trim();
};

it("a Node that was installed but does not run on this machine is not used, the first time and later", () => {
  for (const folder of ["node", "node-bin"])
    write(`node_modules/${folder}-${PLATFORM}/bin/node`, "#!/bin/sh\nexit 1\n", 0o755);
  expect(start()).toBe(`hello ${process.execPath}`);
  expect(start()).toBe(`hello ${process.execPath}`);
});
