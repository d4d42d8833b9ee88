// A question on the terminal, and keys that are pressed there. Without a terminal nobody can answer, and the command
// needs a flag.

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

/** Calls `press` with each key, until what it returns is called; null without a terminal. */
export type Keys = ((press: (key: string) => void) => () => void) | null;

export const keysOfTerminal = (): Keys => {
  const { stdin } = process;
  if (stdin.isTTY !== true) return null;
  return (press) => {
    const hear = (bytes: Buffer) => press(bytes.toString());
    stdin.setRawMode(true).on("data", hear).resume();
    return () => {
      stdin.off("data", hear).setRawMode(false).pause();
    };
  };
};
