// Completion in the shells themselves, where they are installed.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completionFor, SHELLS, type Shell } from "../../cli/completion.ts";
import { VERBS } from "../../cli/verbs.ts";
import { JOB_STATUSES } from "../../contract/words/values.ts";
import { runCommand } from "./run-command.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "completion-"));
  for (const shell of SHELLS) writeFileSync(path.join(folder, shell), completionFor(shell, VERBS));
  writeFileSync(path.join(folder, "a-file"), "");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const outputOf = (shell: Shell, script: string): string => {
  const { stdout, stderr } = spawnSync(shell, ["-c", script], { cwd: folder, encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout;
};

const lines = (text: string): string[] => text.split("\n").filter((line) => line !== "");

/** What a shell offers for the words of a line, of which the last is begun. */
const OFFERED: Readonly<Record<Shell, (words: readonly string[]) => string[]>> = {
  bash: (words) =>
    lines(
      outputOf(
        "bash",
        `source ./bash; COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _signalbox; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ),
    ),
  // zsh completes only in its line editor: its functions that offer words print them here.
  zsh: (words) => {
    const begun = words.at(-1) ?? "";
    const printed = outputOf(
      "zsh",
      `compdef() { }; _files() { ls }
       _describe() { local name=\${@[-1]}; print -l -- "\${(@)\${(P@)name}%%:*}" }
       compadd() { shift; print -l -- "$@" }
       words=(${words.map((word) => `'${word}'`).join(" ")}); CURRENT=${words.length}
       source ./zsh; _signalbox`,
    );
    return lines(printed).filter((word) => word.startsWith(begun));
  },
  fish: (words) =>
    lines(outputOf("fish", `source ./fish; complete -C '${words.join(" ")}'`)).map((line) => line.split("\t")[0] ?? ""),
};

const isInstalled = (shell: Shell): boolean => spawnSync(shell, ["--version"]).status === 0;

describe.each(SHELLS.filter(isInstalled))("%s", (shell) => {
  const offered = (...words: string[]): string[] => OFFERED[shell](["signalbox", ...words]).sort();

  it("offers the commands that begin so", () => {
    expect(offered("work")).toEqual(["worker", "workers"]);
    expect(offered("jobs", "")).toEqual(["attempts", "cancel", "events", "get", "list", "retry", "watch"]);
    expect(offered("comp")).toEqual(["completion"]);
  });

  it("offers a command's flags, also after an argument", () => {
    expect(offered("jobs", "list", "--s")).toEqual(["--schedule", "--search", "--since", "--status"]);
    expect(offered("cost", "--per")).toEqual(["--period"]);
    expect(offered("run", "Say hello.", "--js")).toEqual(["--json"]);
  });

  it("offers the values of a flag that takes one of a few", () => {
    expect(offered("jobs", "list", "--status", "")).toEqual([...JOB_STATUSES].sort());
    expect(offered("cost", "--period", "w")).toEqual(["week"]);
  });
});

it("every shell is tested where it matters most", () => {
  expect(isInstalled("bash")).toBe(true);
});

it("a shell that nobody knows is refused with those that are known", async () => {
  await expect(runCommand(["completion", "csh"], () => ({}))).rejects.toThrow("bash, zsh, fish");
  const { out } = await runCommand(["completion", "bash"], () => ({}));
  expect(out).toBe(completionFor("bash", VERBS));
});
