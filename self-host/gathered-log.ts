// Lines of the log that come in one turn of the event loop are written together at its end: each write to a pipe is a
// system call that wakes who reads it, and many refusals in one turn would keep everybody else waiting.

import type { LogWriter } from "../log/log.ts";

type To = keyof LogWriter;

interface Lines {
  readonly to: To;
  readonly lines: string[];
}

/** `flush` writes what is left; call it when the process ends. */
export const gatheredLog = (out: LogWriter = console): LogWriter & { readonly flush: () => void } => {
  let gathered: Lines[] = [];
  const flush = (): void => {
    const all = gathered;
    gathered = [];
    for (const { to, lines } of all) out[to](lines.join("\n"));
  };
  const add = (to: To, line: string): void => {
    if (gathered.length === 0) setImmediate(flush);
    const last = gathered.at(-1);
    if (last?.to === to) last.lines.push(line);
    else gathered.push({ to, lines: [line] });
  };
  return {
    log: (line) => add("log", line),
    warn: (line) => add("warn", line),
    error: (line) => add("error", line),
    flush,
  };
};
