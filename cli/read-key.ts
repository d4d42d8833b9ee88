// Reads a key from stdin: a line of a pipe, or typed at a terminal without echo. Null if there is none.

import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import type { Output } from "./output.ts";

export const readKey = async (output: Output, signal: AbortSignal): Promise<string | null> => {
  const isTerminal = process.stdin.isTTY === true;
  if (isTerminal) output.say("The key (it is not displayed):");
  // Readline echoes typed text to its output; this output discards it.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: isTerminal });
  try {
    const leave = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
    );
    // In raw mode the terminal does not send SIGINT itself.
    lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    const line = new Promise<string>((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => resolve(""));
    });
    const key = (await Promise.race([line, leave])).trim();
    return key === "" ? null : key;
  } finally {
    lines.close();
  }
};
