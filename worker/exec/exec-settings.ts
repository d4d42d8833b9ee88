// The flags of `--exec`, and what is wrong with them.

import * as z from "zod";
import { splitList } from "../../contract/words/field.ts";
import { APIS, type Api } from "../../contract/words/values.ts";
import { type Command, wholePaths } from "./command.ts";
import { splitWords } from "./split-words.ts";

export const EXEC_FLAGS = {
  exec: "runs any command as a worker: the prompt is its stdin, its stdout the result; no shell, unless --exec-shell",
  "exec-mode": "job: a process for each job (default); lines: one kept process for each place, a job is a line of JSON",
  "exec-shell": "gives the command to a shell as one text",
  stdin: "what the command reads: text, the prompt (default), or json, the job on one line",
  stdout: "what it writes: text, with instructions between (default), or json, instructions only",
  apis: "clients' APIs that the command answers, such as chat/completions,messages,responses: its text becomes their answer",
  grace: "seconds between SIGTERM and SIGKILL for a job that is stopped (default 5)",
  once: `runs one job without a coordinator and prints its report: --once '{"prompt": "hi"}'`,
} as const;

export const EXEC_SWITCHES: readonly string[] = ["exec-shell"];

const MAX_GRACE_SECONDS = 3_600;
const form = z.enum(["text", "json"], { error: "must be text or json" });

export const execFields = {
  "--exec": z.string().optional(),
  "--exec-mode": z.enum(["job", "lines"], { error: "must be job or lines" }).default("job"),
  "--exec-shell": z.string().optional(),
  "--apis": z
    .string()
    .transform(splitList)
    .pipe(z.array(z.enum(APIS, { error: `must be one or more of ${APIS.join(", ")}` })))
    .default([]),
  "--stdin": form.default("text"),
  "--stdout": form.default("text"),
  "--grace": z.coerce
    .number({ error: "must be a number of seconds" })
    .min(0, "must be at least 0")
    .max(MAX_GRACE_SECONDS, `must be at most ${MAX_GRACE_SECONDS}`)
    .default(5),
  "--once": z.string().optional(),
};

export type ExecSettings = {
  command: Command;
  mode: "job" | "lines";
  stdin: "text" | "json";
  stdout: "text" | "json";
  graceMs: number;
  apis: readonly Api[];
};

type Parsed = z.infer<z.ZodObject<typeof execFields>>;

/** Null: the worker runs no command. */
export const execSettings = (
  flags: Parsed,
  isGiven: (flag: string) => boolean,
  folder: string,
): { exec: ExecSettings | null; problems: string[] } => {
  const text = flags["--exec"];
  if (text === undefined) {
    const idle = ["exec-mode", "exec-shell", "stdin", "stdout", "apis", "grace"].filter(isGiven);
    return { exec: null, problems: idle.map((flag) => `--${flag} goes with --exec '<command>'`) };
  }
  const problems = isGiven("runtime") ? ["--runtime and --exec: a worker has one of them"] : [];
  const isShell = isGiven("exec-shell");
  const split = isShell ? { ok: true as const, words: [text] } : splitWords(text);
  if (!split.ok) return { exec: null, problems: [...problems, `--exec: ${split.problem}`] };
  const words = isShell ? split.words : wholePaths(split.words, folder);
  const exec: ExecSettings = {
    command: { text, words, isShell },
    mode: flags["--exec-mode"],
    stdin: flags["--stdin"],
    stdout: flags["--stdout"],
    graceMs: flags["--grace"] * 1000,
    apis: flags["--apis"],
  };
  return { exec, problems };
};
