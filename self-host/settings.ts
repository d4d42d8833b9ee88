// The settings of `npm start` from flags and environment, checked before anything is changed.

import { readdirSync, readFileSync } from "node:fs";
import type { BlockList } from "node:net";
import { hostname } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { publicOriginOf } from "../contract/text/public-origin.ts";
import { isMaxGb } from "../domain/tenant/max-gb.ts";
import { logProblem } from "../log/log.ts";
import { logFormatOf } from "./child-output.ts";
import { readTrustedProxies } from "./client-address.ts";
import type { Compaction } from "./compact.ts";
import { dataRoot } from "./data-dir.ts";
import { ExitError } from "./exit-error.ts";
import { requireRootKey } from "./kept-secret.ts";
import { readProcessCount } from "./processes.ts";
import { ROOT } from "./run-command.ts";

const DEFAULT_PORT = 8787;
const DEFAULT_HOST = "127.0.0.1";
const MAX_PORT = 65_535;
/** The variables that the edge may read from this process's environment, besides those of [vars] in wrangler.toml. */
const PASSED_ON =
  /^(SERVICE_(CATALOG_(SYNC|LOCAL)|EDGE_TENANTS|TENANT_MAX_GB|(WEBHOOKS|SIGN_IN)_PRIVATE|PUBLIC_URL|SIGNING_SECRET_ALSO|LOG(_LEVEL|_REQUESTS)?|OTLP_(URL|HEADERS))|PROVIDER_[A-Z0-9_]+_KEY|VAULT_[A-Z0-9_]+)$/;

/** Linux allows 128 KiB in one environment variable. */
const MAX_CATALOG_BYTES = 120 * 1024;

export interface Settings {
  dataDir: string;
  host: string;
  /** 0 lets the system choose. */
  port: number;
  runsWorker: boolean;
  workerInstance: string;
  /** The process that the edge runs in. */
  edge: "node" | "workerd";
  /** Whether old jobs go to the archive's folder. */
  keepsArchive: boolean;
  /** Which databases give their free pages back. */
  compaction: Compaction;
  /** How many processes share the tenants of a new data folder; undefined: as the folder has it. */
  processCount: number | undefined;
  /** Where workerd serves the DevTools protocol; undefined: nowhere. */
  heapMib: number | undefined;
  inspectorPort: number | undefined;
  /** Whose X-Forwarded-For names the client. */
  trustedProxies: BlockList;
}

export const USAGE = `Usage: npm start [-- <options>]

Serves the coordinator and its dashboard until SIGINT or SIGTERM.

  --no-worker           starts no local worker
  --edge node|workerd   the process that serves HTTP: Node (the default) in front of workerd, or workerd alone
  --heap <MiB>          bounds V8's heap of each process with tenants, as an isolate on Cloudflare has it (128); for tests
  --inspect <port>      lets DevTools inspect the process with the tenants, on 127.0.0.1; for profiles
  --help                prints this text

Environment:
  PORT (8787), SERVICE_HOST (127.0.0.1)    address to listen on
  SERVICE_TRUST_PROXY                      networks of proxies (10.0.0.0/8,…) whose X-Forwarded-For names the client
  SERVICE_DATA_DIR (.data)                 folder for all state
  SERVICE_PROCESSES (1)                    processes that share the tenants; fixed when the data folder is created
  SERVICE_ROOT_KEY, SERVICE_SIGNING_SECRET created once and kept in the data folder if not set
  SERVICE_CATALOG_SYNC=0                   turns catalog sync off
  SERVICE_CATALOG_LOCAL=0                  removes local providers from the catalog: tenants reach no private address
  SERVICE_CATALOG_DIR                      a folder with more provider files
  SERVICE_RUNTIME_URL                      address of the local worker's model runtime
  SERVICE_EDGE_TENANTS (default)           tenants whose calls may use these PROVIDER_<NAME>_KEY, or *
  SERVICE_TENANT_MAX_GB=20                 what each tenant may store, in GB
  SERVICE_ARCHIVE=1                        jobs older than history.keep_days go to the data folder's archive/
  SERVICE_COMPACT=1|0                      compacts databases that are mostly free whatever it takes, or never (quick ones)
  SERVICE_HISTORY_MAX_GB                   what the history's database may hold, in GB: warns at 70 %
  SERVICE_WEBHOOKS_PRIVATE=1               allows webhooks to private addresses
  SERVICE_PUBLIC_URL=https://…             where people reach the service: for links and signing in
  SERVICE_SIGN_IN                          how people sign in, for tenants without their own: a YAML file, or its text
  SERVICE_SIGN_IN_PRIVATE=1                allows identity providers at private addresses and over http
  SERVICE_LOG=text|json|off                log format (text on a terminal, else json)
  SERVICE_LOG_LEVEL=debug|info|warn|error  lowest level that is logged (info)
  SERVICE_LOG_REQUESTS=1                   logs every request, not only failed ones
  SERVICE_OTLP_URL, SERVICE_OTLP_HEADERS   OpenTelemetry collector (…/v1/traces), and its headers: name=value,…
  PROVIDER_<NAME>_KEY                      a provider's key
  NODE_EXTRA_CA_CERTS                      a file with certificate authorities to trust besides the public ones, in PEM`;

export const readSettings = (args: string[], env: NodeJS.ProcessEnv): Settings => {
  const flags = readFlags(args);
  const wrongLog = logProblem(env);
  if (wrongLog !== null) throw new ExitError(wrongLog, 2);
  for (const name of ["SERVICE_TENANT_MAX_GB", "SERVICE_HISTORY_MAX_GB"] as const) requireMaxGb(name, env[name]);
  requirePublicUrl(env);
  requireRootKey(env.SERVICE_ROOT_KEY);
  return {
    dataDir: dataRoot(env),
    host: env.SERVICE_HOST || DEFAULT_HOST,
    port: env.PORT ? readPort("PORT", env.PORT) : DEFAULT_PORT,
    runsWorker: !flags["no-worker"],
    edge: readEdge(flags.edge),
    keepsArchive: env.SERVICE_ARCHIVE === "1",
    compaction: readCompaction(env.SERVICE_COMPACT),
    processCount: readProcessCount(env.SERVICE_PROCESSES),
    heapMib: flags.heap === undefined ? undefined : readHeap(flags.heap),
    inspectorPort: flags.inspect === undefined ? undefined : readPort("--inspect", flags.inspect),
    trustedProxies: readTrustedProxies(env.SERVICE_TRUST_PROXY),
    workerInstance: `local-${hostname().replace(/[^A-Za-z0-9._:-]/g, "-")}`.slice(0, 128),
  };
};

export const isHelpAsked = (args: string[]): boolean => args.some((one) => one === "--help" || one === "-h");

const TEXT = { type: "string" } as const;
const FLAGS = { "no-worker": { type: "boolean" }, edge: TEXT, inspect: TEXT, heap: TEXT } as const;

const readFlags = (args: string[]): { "no-worker"?: boolean; edge?: string; inspect?: string; heap?: string } => {
  try {
    return parseArgs({ args, options: FLAGS }).values;
  } catch (error) {
    throw new ExitError(`${(error as Error).message}\n${USAGE}`, 2);
  }
};

const readEdge = (text: string | undefined): Settings["edge"] => {
  if (text === undefined) return process.platform === "win32" ? "workerd" : "node";
  if (text === "node" || text === "workerd") return text;
  throw new ExitError(`--edge is "${text}": use node or workerd.`, 2);
};

const readCompaction = (text: string | undefined): Compaction => {
  if (!text) return "quick";
  if (text === "1" || text === "0") return text === "1" ? "always" : "never";
  throw new ExitError(`SERVICE_COMPACT is "${text}": use 1 or 0.`, 2);
};

/** The objects read it, but here the operator sees the message. */
const requireMaxGb = (name: string, text: string | undefined): void => {
  if (!text || isMaxGb(text)) return;
  throw new ExitError(`${name} is "${text}": use a number of GB, e.g. 20 or 0.5.`, 2);
};

const requirePublicUrl = (env: NodeJS.ProcessEnv): void => {
  if (!env.SERVICE_PUBLIC_URL || publicOriginOf(env) !== null) return;
  throw new ExitError(
    `SERVICE_PUBLIC_URL is "${env.SERVICE_PUBLIC_URL}": use an address, e.g. https://jobs.example.com.`,
    2,
  );
};

const readHeap = (text: string): number => {
  if (/^[1-9]\d{1,4}$/.test(text)) return Number(text);
  throw new ExitError(`--heap is "${text}": use a number of MiB from 10 to 99999.`, 2);
};

const readPort = (name: string, text: string): number => {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= MAX_PORT) return port;
  throw new ExitError(`${name} is "${text}": use a number from 0 to ${MAX_PORT}; 0 means any free port.`, 2);
};

/** wrangler.toml has them for a deployment, whose database has a limit; a server has them only from its operator. */
const OF_DEPLOYMENTS = ["SERVICE_HISTORY_MAX_GB", "SERVICE_HISTORY_KEEP_DAYS", "SERVICE_HISTORY_KEEP_TEXTS_DAYS"];

/** The operator's variables that the edge gets unchanged: declared vars, catalog switch, provider keys, vault. */
export const passedEnvironment = (
  declared: Record<string, unknown>,
  env: NodeJS.ProcessEnv,
): Record<string, string> => {
  const passed = Object.entries(env).filter(([name, value]) => value && (name in declared || PASSED_ON.test(name)));
  const unset = Object.fromEntries(OF_DEPLOYMENTS.map((name) => [name, ""]));
  return { ...unset, ...Object.fromEntries(passed), SERVICE_LOG: logFormatOf(env) } as Record<string, string>;
};

/**
 * The operator's own provider files (SERVICE_CATALOG_DIR), as one JSON object from file name to YAML text. Ends the
 * start if one is invalid by the edge's own schema, because here the operator sees the message.
 */
export const readExtraCatalog = async (env: NodeJS.ProcessEnv): Promise<Record<string, string>> => {
  if (!env.SERVICE_CATALOG_DIR) return {};
  const directory = path.resolve(ROOT, env.SERVICE_CATALOG_DIR);
  const files = readYamlFiles(directory);
  // Loading the YAML reader takes time, so it is only loaded if there is such a folder.
  const { readFiles } = await import("../src/catalog/providers.ts");
  const { problems } = readFiles(files);
  if (problems.length > 0) throw new ExitError(wrongCatalogMessage(directory, problems));
  const text = JSON.stringify(files);
  if (Buffer.byteLength(text) > MAX_CATALOG_BYTES) {
    throw new ExitError(`The provider files in ${directory} have more than ${MAX_CATALOG_BYTES / 1024} KiB together.`);
  }
  return { SERVICE_CATALOG_FILES: text };
};

/** How people sign in: the YAML itself, or the path of a file with it. Ends the start if it is invalid. */
export const readSignIn = async (env: NodeJS.ProcessEnv): Promise<Record<string, string>> => {
  const given = env.SERVICE_SIGN_IN ?? "";
  if (given === "") return {};
  const isText = given.includes(":\n") || given.includes(": ") || given.trimStart().startsWith("{");
  const text = isText ? given : readSignInFile(path.resolve(ROOT, given));
  const { readDeploymentSignIn } = await import("../src/sign-in/config.ts");
  try {
    readDeploymentSignIn(text);
  } catch (error) {
    throw new ExitError((error as Error).message);
  }
  return { SERVICE_SIGN_IN: text };
};

const readSignInFile = (file: string): string => {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ExitError(`SERVICE_SIGN_IN: ${file} cannot be read: ${(error as Error).message}`);
  }
};

const readYamlFiles = (directory: string): Record<string, string> => {
  const names = orUnreadable(directory, () => readdirSync(directory)).filter((name) => /\.ya?ml$/.test(name));
  const read = (file: string): string => orUnreadable(file, () => readFileSync(file, "utf8"));
  return Object.fromEntries(names.sort().map((name) => [name, read(path.join(directory, name))]));
};

const orUnreadable = <T>(place: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    throw new ExitError(`SERVICE_CATALOG_DIR: ${place} cannot be read: ${(error as Error).message}`);
  }
};

const wrongCatalogMessage = (directory: string, problems: readonly string[]): string => {
  const isAboutAddress = problems.some((problem) => problem.includes(" list_url: "));
  return [
    `Provider files in SERVICE_CATALOG_DIR (${directory}) are invalid:`,
    ...problems.map((problem) => `  ${problem}`),
    ...(isAboutAddress ? ["A runtime with plain http or a private address needs `local: true`."] : []),
    "Fix these files or remove them from the folder, and start again. providers/README.md documents their format.",
  ].join("\n");
};
