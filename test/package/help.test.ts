// Every npm script answers --help before it installs, builds or serves anything.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const { scripts } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};
const OURS = /^(?:exec )?node (?=scripts\/setup\.mjs )/;
const ours = Object.entries(scripts).filter(([, command]) => OURS.test(command));

it.each(ours)("npm run %s -- --help says what it is", async (_name, command) => {
  const args = command.replace(OURS, "").split(" ");
  const { stdout } = await promisify(execFile)("node", [...args, "--help"], { cwd: ROOT, timeout: 20_000 });
  expect(stdout).toMatch(/npm (run |start|test)/);
});
