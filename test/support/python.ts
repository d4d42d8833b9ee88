// The machine's python3, or another one in SIGNALBOX_PYTHON, for the tests of the Python package.

import { execFileSync, spawn } from "node:child_process";
import path from "node:path";

export const PYTHON: string = process.env.SIGNALBOX_PYTHON ?? "python3";

export const lacks = (args: readonly string[], python = PYTHON): boolean => {
  try {
    execFileSync(python, args, { stdio: "ignore" });
    return false;
  } catch {
    return true;
  }
};

export const lacksPython: boolean = lacks(["--version"]);
if (lacksPython) console.warn(`The tests of the Python package are skipped: there is no ${PYTHON} on this machine.`);

export interface Program {
  /** What it has written so far. */
  readonly output: () => string;
  /** By SIGTERM. Resolves to its exit code. */
  readonly stop: () => Promise<number | null>;
}

export const startProgram = (file: string, env: NodeJS.ProcessEnv): Program => {
  const child = spawn(PYTHON, [file], { cwd: path.dirname(file), env });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  return {
    output: () => output,
    stop: () => {
      child.kill("SIGTERM");
      return exited;
    },
  };
};
