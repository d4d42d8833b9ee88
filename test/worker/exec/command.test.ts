// Whether a command can be started on Windows, where many commands are scripts for a shell.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, expect, test } from "vitest";
import { missing } from "../../../worker/exec/command.ts";
import { folderForEachTest } from "../../support/temporary-folder.ts";

const folder = folderForEachTest();
const place = (name: string): string => path.join(folder.path, name);
const reason = (name: string, isShell = false): string | null =>
  missing({ text: name, words: [name], isShell }, { PATH: folder.path, PATHEXT: ".EXE;.CMD" }, "win32");

beforeEach(() => {
  // As npm and Node write them: a script for a POSIX shell beside one for Windows.
  for (const name of ["npx", "npx.CMD", "tool.EXE", "tool.CMD"]) writeFileSync(place(name), "", { mode: 0o755 });
});

test("a program is there with or without its ending, and with its path", () => {
  for (const name of ["tool", "tool.EXE", place("tool")]) expect(reason(name)).toBeNull();
});

test("a script is named, with what to do", () => {
  expect(reason("npx")).toBe(`the command npx is a script, ${place("npx")}: add --exec-shell`);
  const script = place("npx.CMD");
  expect(reason(script)).toBe(`the command ${script} is a script, ${script}: add --exec-shell`);
  expect(reason("npx", true)).toBeNull();
});

test("another name is not there", () => {
  expect(reason("other")).toBe("the command other is not there: no folder of PATH has it");
});
