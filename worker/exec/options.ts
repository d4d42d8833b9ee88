// How a worker runs a command.

import type { Api } from "../../contract/words/values.ts";
import type { JobFiles } from "../job-files.ts";
import type { Command } from "./command.ts";

export type ExecOptions = {
  command: Command;
  stdin: "text" | "json";
  stdout: "text" | "json";
  graceMs: number;
  /** Places, each with a process of its own in mode `lines`. */
  concurrency: number;
  offeredModels: readonly string[];
  /** The front-door APIs that it answers. */
  apis: readonly Api[];
  apiUrl: string;
  files: JobFiles;
  env: Readonly<Record<string, string | undefined>>;
  log: (line: string) => void;
};
