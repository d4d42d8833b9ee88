// How the scripts start the project's tools where npm's own commands cannot be started.

import { realpathSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { programOf, TOOLS } from "../../self-host/run-command.ts";

const MODULES = path.resolve(import.meta.dirname, "../../node_modules");

it.each([...TOOLS])("%s is the program that npm's command runs", (name, program) => {
  expect(path.join(MODULES, program)).toBe(realpathSync(path.join(MODULES, ".bin", name)));
});

it("Windows runs a tool by Node, without a shell that would split a path with a space; others run the command", () => {
  const vite = path.join(MODULES, "vite/bin/vite.js");
  expect(programOf("vite", ["build", "C:\\Users\\Ann Lee"], "win32")).toEqual([
    process.execPath,
    [vite, "build", "C:\\Users\\Ann Lee"],
  ]);
  expect(programOf("C:\\workerd.exe", ["serve"], "win32")).toEqual(["C:\\workerd.exe", ["serve"]]);
  expect(programOf("vite", ["build"], "linux")).toEqual(["vite", ["build"]]);
});
