// The service's log: one line per event, as text for people or JSON for collectors. Lines contain names, ids and codes,
// never a key, a body, a prompt or a result. Internal errors are logged with their stack.

const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
const LOG_FORMATS = ["text", "json", "off"] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface LogFields {
  readonly request_id?: string | undefined;
  readonly tenant?: string | undefined;
  readonly key_id?: string | null | undefined;
  readonly method?: string;
  /** The endpoint's path with parameter names, e.g. `/api/jobs/:id`. */
  readonly route?: string;
  readonly status?: number;
  readonly ms?: number;
  readonly job_id?: string;
  readonly worker?: string;
  readonly code?: string | undefined;
  /** What an audited event is about. */
  readonly target?: string;
  readonly actor?: string;
  /** The periodic task that failed, the file that cannot be read, … */
  readonly what?: string;
  readonly detail?: string;
}

/** A line that is logged after the turn's commit. */
export interface LogLine {
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: LogFields;
}

export interface LogSettings {
  readonly SERVICE_LOG?: string | undefined;
  readonly SERVICE_LOG_LEVEL?: string | undefined;
}

interface Output {
  readonly format: LogFormat;
  readonly level: LogLevel;
}

let output: Output = { format: "json", level: "info" };

export interface LogWriter {
  readonly log: (line: string) => void;
  readonly warn: (line: string) => void;
  readonly error: (line: string) => void;
}

/** Cloudflare's own log shows a line at the level of what wrote it. */
const WRITES: Readonly<Record<LogLevel, keyof LogWriter>> = { debug: "log", info: "log", warn: "warn", error: "error" };

let writer: LogWriter = console;

export const writeLogTo = (chosen: LogWriter): void => {
  writer = chosen;
};

const isFormat = (given: string | undefined): given is LogFormat => LOG_FORMATS.some((one) => one === given);
const isLevel = (given: string | undefined): given is LogLevel => LOG_LEVELS.some((one) => one === given);

/** What is wrong with the log settings, or null. */
export const logProblem = ({ SERVICE_LOG, SERVICE_LOG_LEVEL }: LogSettings): string | null => {
  if (SERVICE_LOG && !isFormat(SERVICE_LOG))
    return `SERVICE_LOG=${SERVICE_LOG} is not one of ${LOG_FORMATS.join(", ")}.`;
  if (SERVICE_LOG_LEVEL && !isLevel(SERVICE_LOG_LEVEL))
    return `SERVICE_LOG_LEVEL=${SERVICE_LOG_LEVEL} is not one of ${LOG_LEVELS.join(", ")}.`;
  return null;
};

/** A setting that is missing or unknown changes nothing. */
export const configureLog = ({ SERVICE_LOG, SERVICE_LOG_LEVEL }: LogSettings): void => {
  output = {
    format: isFormat(SERVICE_LOG) ? SERVICE_LOG : output.format,
    level: isLevel(SERVICE_LOG_LEVEL) ? SERVICE_LOG_LEVEL : output.level,
  };
};

export const log = (level: LogLevel, event: string, fields: LogFields, error?: unknown): void => {
  const { format, level: least } = output;
  if (format === "off" || LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(least)) return;
  const at = new Date().toISOString();
  const line =
    format === "json" ? jsonLine(at, level, event, fields, error) : textLine(at, level, event, fields, error);
  writer[WRITES[level]](line);
};

const told = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

const jsonLine = (at: string, level: LogLevel, event: string, fields: LogFields, error: unknown): string =>
  JSON.stringify({ at, level, event, ...fields, ...(error === undefined ? {} : { error: told(error) }) });

const PLAIN = /^[\w./:@%+-]+$/;

const textLine = (at: string, level: LogLevel, event: string, fields: LogFields, error: unknown): string => {
  const pairs = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}=${PLAIN.test(String(value)) ? value : JSON.stringify(value)}`);
  const line = [at, level.toUpperCase().padEnd(5), event, ...pairs].join(" ");
  return error === undefined ? line : `${line}\n${told(error)}`;
};
