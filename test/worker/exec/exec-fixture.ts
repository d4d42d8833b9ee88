// A command as a worker's runtime, without a coordinator.

import * as z from "zod";
import type { Outcome, RunOptions, Task } from "../../../worker/calls/runtime.ts";
import { type ExecSettings, execFields, execSettings } from "../../../worker/exec/exec-settings.ts";
import { openCommand } from "../../../worker/exec/open-command.ts";
import type { JobFiles } from "../../../worker/job-files.ts";
import { listedFiles } from "../../../worker/once.ts";
import { quietRun, taskOf } from "../runtimes/quiet-run.ts";

/** The flags as an operator writes them, without the dashes. */
export type Flags = Partial<Record<"exec-mode" | "exec-shell" | "stdin" | "stdout" | "apis" | "grace", string>>;

function settingsFor(command: string, flags: Flags): ExecSettings {
  const given = Object.fromEntries(
    Object.entries({ exec: command, ...flags }).map(([name, value]) => [`--${name}`, value]),
  );
  const { exec, problems } = execSettings(z.object(execFields).parse(given), (flag) => flag in flags, process.cwd());
  if (exec === null) throw new Error(problems.join("\n"));
  return exec;
}

/** A runtime of the command, with what it logged and the files that it kept. */
export function open(command: string, flags: Flags = {}, concurrency = 1, kept?: JobFiles) {
  const logged: string[] = [];
  const { files, keep } = listedFiles();
  const needed = { apiUrl: "http://127.0.0.1:9", apiKey: "k", models: [], concurrency };
  const runtime = openCommand(settingsFor(command, flags), needed, (line) => logged.push(line), kept ?? keep);
  return { runtime, logged, files };
}

export type Ran = {
  outcome: Outcome;
  told: string[];
  logged: string[];
  files: { name: string }[];
  progress: unknown[];
};

export async function runCommand(
  command: string,
  flags: Flags = {},
  task: Partial<Task> = {},
  options: Partial<RunOptions> = {},
): Promise<Ran> {
  const { runtime, logged, files } = open(command, flags);
  const told: string[] = [];
  const progress: unknown[] = [];
  const emit = (events: readonly string[]) => void told.push(...events);
  const onProgress = (one: unknown) => void progress.push(one);
  const outcome = await runtime.run(taskOf(task), quietRun({ emit, onProgress, ...options }));
  await runtime.close?.();
  return { outcome, told, logged, files, progress };
}

/** A command that runs this JavaScript. */
export const node = (script: string): string => `'${process.execPath}' -e '${script}'`;
