// What a child process prints. In a JSON log each of its lines is an entry, so that a collector can read all of them:
// workerd reports a host name that nobody knows in text of its own, and the local worker writes for people.

import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { type LogFormat, log } from "../../log/log.ts";

/** The format that the operator chose; for people on a terminal, else for collectors. */
export const logFormatOf = ({ SERVICE_LOG }: NodeJS.ProcessEnv): LogFormat =>
  (SERVICE_LOG || (process.stderr.isTTY ? "text" : "json")) as LogFormat;

const isEntry = (line: string): boolean => line.startsWith('{"at":"');
/** Addresses in workerd's binary, for its developers. */
const isStack = (line: string): boolean => line.startsWith("stack: ");

const logLines = (what: string, output: Readable, level: "info" | "warn"): void => {
  createInterface({ input: output }).on("line", (line) => {
    if (isEntry(line)) (level === "info" ? process.stdout : process.stderr).write(`${line}\n`);
    else if (line !== "") log(isStack(line) ? "debug" : level, "process.output", { what, detail: line });
  });
};

interface Outputs {
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
}

/** For people, where it does not write to our terminal by itself. */
export const passOutput = ({ stdout, stderr }: Outputs): void => {
  stdout?.on("data", (bytes: Buffer) => process.stdout.write(bytes));
  stderr?.on("data", (bytes: Buffer) => process.stderr.write(bytes));
};

export const logOutput = (what: string, { stdout, stderr }: Outputs): void => {
  if (stdout !== null) logLines(what, stdout, "info");
  if (stderr !== null) logLines(what, stderr, "warn");
};
