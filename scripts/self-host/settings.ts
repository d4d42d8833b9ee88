// What `npm start` was told, by flags and environment, checked before anything is touched.

import { readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { ExitError } from "../exit-error.ts";
import { ROOT } from "../run-command.ts";

const DEFAULT_PORT = 8787;
const DEFAULT_HOST = "127.0.0.1";
const MAX_PORT = 65_535;
/** What the edge may read of this process's environment, beside the names that wrangler.toml has under [vars]. */
const PASSED_ON = /^(SERVICE_CATALOG_SYNC|PROVIDER_[A-Z0-9_]+_KEY|VAULT_[A-Z0-9_]+)$/;

export interface Settings {
  dataDir: string;
  host: string;
  /** 0 lets the system choose. */
  port: number;
  runsWorker: boolean;
  workerInstance: string;
}

export function readSettings(args: string[], env: NodeJS.ProcessEnv): Settings {
  return {
    dataDir: path.resolve(ROOT, env.SERVICE_DATA_DIR || ".data"),
    host: env.SERVICE_HOST || DEFAULT_HOST,
    port: readPort(env.PORT),
    runsWorker: !readFlags(args)["no-worker"],
    workerInstance: `local-${hostname().replace(/[^A-Za-z0-9._:-]/g, "-")}`.slice(0, 128),
  };
}

function readFlags(args: string[]): { "no-worker"?: boolean } {
  try {
    return parseArgs({ args, options: { "no-worker": { type: "boolean" } } }).values;
  } catch (error) {
    throw new ExitError(`${(error as Error).message}\nUsage: npm start [-- --no-worker]`, 2);
  }
}

function readPort(text: string | undefined): number {
  if (!text) return DEFAULT_PORT;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= MAX_PORT) return port;
  throw new ExitError(`PORT is "${text}": give a number from 0 to ${MAX_PORT}, where 0 means any free port.`, 2);
}

/** The operator's variables that the edge gets as they are: declared vars, catalog switch, provider keys, vault. */
export function passedEnvironment(declared: Record<string, unknown>, env: NodeJS.ProcessEnv): Record<string, string> {
  const passed = Object.entries(env).filter(([name, value]) => value && (name in declared || PASSED_ON.test(name)));
  return Object.fromEntries(passed) as Record<string, string>;
}

/** The operator's own provider files (SERVICE_CATALOG_DIR), as one JSON object from file name to YAML text. */
export function readExtraCatalog(env: NodeJS.ProcessEnv): Record<string, string> {
  const directory = env.SERVICE_CATALOG_DIR;
  if (!directory) return {};
  try {
    const names = readdirSync(path.resolve(ROOT, directory)).filter((name) => /\.ya?ml$/.test(name));
    const files = names.sort().map((name) => [name, readFileSync(path.resolve(ROOT, directory, name), "utf8")]);
    return { SERVICE_CATALOG_FILES: JSON.stringify(Object.fromEntries(files)) };
  } catch (error) {
    throw new ExitError(`SERVICE_CATALOG_DIR cannot be read: ${(error as Error).message}`);
  }
}
