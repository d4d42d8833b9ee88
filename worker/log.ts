// The worker's log: lines for people, or with SERVICE_LOG=json one JSON object per line with the coordinator's fields.
// Lines contain names, ids, codes and errors, never a key, a prompt or a result. A runtime's words may repeat a prompt, so
// those for people are printable.

import { printable } from "../contract/text/printable.ts";
import { configureLog, type LogLevel, type LogSettings, log } from "../log/log.ts";

/** What a line is about, for who reads it by a program. */
interface WorkerFacts {
  readonly event: string;
  readonly level?: LogLevel;
  readonly job_id?: string;
  readonly code?: string;
}

export type WorkerLog = (line: string, facts?: WorkerFacts) => void;

const NOTE: WorkerFacts = { event: "worker.note" };

export const openWorkerLog = (settings: LogSettings, instance: string): WorkerLog => {
  if (settings.SERVICE_LOG === "off") return () => {};
  if (settings.SERVICE_LOG !== "json") return (line) => console.log(`worker: ${printable(line)}`);
  configureLog(settings);
  return (line, { event, level = "info", ...fields } = NOTE) =>
    log(level, event, { worker: instance, ...fields, detail: line });
};
