// A question on the terminal. Without a terminal nobody can answer, and the command needs a flag.

import { createInterface } from "node:readline/promises";

export type Ask = ((question: string) => Promise<boolean>) | null;

export const askOnTerminal = (signal: AbortSignal): Ask => {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return null;
  return async (question) => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return /^y(es)?$/i.test((await lines.question(question, { signal })).trim());
    } finally {
      lines.close();
    }
  };
};
