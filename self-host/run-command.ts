// Child commands of the scripts: started in the checkout's root, with the project's own tools first on the PATH.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

const isRoot = (folder: string): boolean => existsSync(path.join(folder, "wrangler.toml"));

/** The checkout: what is built of the sources lies deeper in it than they do. */
export const ROOT: string =
  ["..", "../.."].map((way) => path.resolve(import.meta.dirname, way)).find(isRoot) ?? process.cwd();
const MODULES = path.join(ROOT, "node_modules");
const BIN = path.join(MODULES, ".bin");

/** The project's tools. What npm makes of them in `.bin` is for a shell, without which Windows starts none. */
export const TOOLS: ReadonlyMap<string, string> = new Map([
  ["biome", "@biomejs/biome/bin/biome"],
  ["drizzle-kit", "drizzle-kit/bin.cjs"],
  ["tsc", "typescript/bin/tsc"],
  ["vite", "vite/bin/vite.js"],
  ["vitest", "vitest/vitest.mjs"],
  ["wrangler", "wrangler/bin/wrangler.js"],
]);

interface CommandOptions {
  env?: Record<string, string>;
  /** Text for the command's standard input, which is otherwise this process's. */
  input?: string;
  /** Returns the output instead of showing it. */
  isQuiet?: boolean;
  /** The working directory; the checkout's root by default. */
  cwd?: string;
  /** It is killed after this time. */
  timeoutMs?: number;
}

interface CommandResult {
  /** 1 if a signal ended it. */
  code: number;
  signal: NodeJS.Signals | null;
  output: string;
}

export const toolEnvironment = (extra: Record<string, string> = {}): NodeJS.ProcessEnv => {
  const PATH = `${BIN}${path.delimiter}${process.env.PATH ?? ""}`;
  return { ...process.env, WRANGLER_SEND_METRICS: "false", ...extra, PATH };
};

/** The program to start for a command, and its arguments. */
export const programOf = (
  command: string,
  args: readonly string[],
  platform = process.platform,
): [string, string[]] => {
  const tool = platform === "win32" ? TOOLS.get(command) : undefined;
  return tool === undefined ? [command, [...args]] : [process.execPath, [path.join(MODULES, tool), ...args]];
};

/** Runs a command to its end. Signals to this process also reach the child, which shares the process group. */
export const runCommand = (command: string, args: string[], options: CommandOptions = {}): Promise<CommandResult> => {
  const output = options.isQuiet ? "pipe" : "inherit";
  const child = spawn(...programOf(command, args), {
    cwd: options.cwd ?? ROOT,
    killSignal: "SIGKILL",
    ...(options.timeoutMs === undefined ? {} : { timeout: options.timeoutMs }),
    env: toolEnvironment(options.env),
    stdio: [options.input === undefined ? "inherit" : "pipe", output, output],
  });
  const chunks: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stdin?.on("error", () => {});
  if (options.input !== undefined) child.stdin?.end(options.input);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const output = Buffer.concat(chunks).toString("utf8");
      resolve({ code: code ?? 1, signal, output: signal === null ? output : `${output}\nIt was ended by ${signal}.` });
    });
  });
};
