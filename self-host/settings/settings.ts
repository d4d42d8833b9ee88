// The settings of `npm start` from flags and environment, checked before anything is changed.

import type { BlockList } from "node:net";
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import type { Compaction } from "../data/compact.ts";
import { dataRoot } from "../data/data-dir.ts";
import { readProcessCount } from "../data/process-count.ts";
import { ExitError } from "../exit-error.ts";
import { readTrustedProxies } from "./client-address.ts";
import { requireValues } from "./require-values.ts";

const DEFAULT_PORT = 8787;
const DEFAULT_HOST = "127.0.0.1";
const MAX_PORT = 65_535;

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
  /** The bound of V8's heap of each process with tenants; undefined: V8's own. */
  heapMib: number | undefined;
  /** Where workerd serves the DevTools protocol; undefined: nowhere. */
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
  SERVICE_SIGNING_SECRET_ALSO              another deployment's secret: the keys of a tenant that moved from there work here
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
  HTTPS_PROXY, HTTP_PROXY, NO_PROXY        the proxies that lead to other machines, and what is called without them
  NODE_EXTRA_CA_CERTS                      a file with certificate authorities to trust besides the public ones, in PEM`;

export const readSettings = (args: string[], env: NodeJS.ProcessEnv, platform = process.platform): Settings => {
  const flags = readFlags(args);
  requireValues(env);
  const edge = readEdge(flags.edge, platform);
  const processCount = readProcessCount(env.SERVICE_PROCESSES);
  if (edge === "workerd" && (processCount ?? 1) > 1) throw new ExitError(PROCESSES_NEED_NODE, 2);
  return {
    dataDir: dataRoot(env),
    host: env.SERVICE_HOST || DEFAULT_HOST,
    port: env.PORT ? readPort("PORT", env.PORT) : DEFAULT_PORT,
    runsWorker: !flags["no-worker"],
    edge,
    keepsArchive: env.SERVICE_ARCHIVE === "1",
    compaction: readCompaction(env.SERVICE_COMPACT),
    processCount,
    heapMib: flags.heap === undefined ? undefined : readHeap(flags.heap),
    inspectorPort: flags.inspect === undefined ? undefined : readPort("--inspect", flags.inspect),
    trustedProxies: readTrustedProxies(env.SERVICE_TRUST_PROXY),
    workerInstance: `local-${hostname().replace(/[^A-Za-z0-9._:-]/g, "-")}`.slice(0, 128),
  };
};

/** Said before the data folder keeps the number. */
const PROCESSES_NEED_NODE = "SERVICE_PROCESSES needs the edge in Node: remove it, or --edge workerd.";

export const isHelpAsked = (args: string[]): boolean => args.some((one) => one === "--help" || one === "-h");

const TEXT = { type: "string" } as const;
const FLAGS = { "no-worker": { type: "boolean" }, edge: TEXT, inspect: TEXT, heap: TEXT } as const;

const readFlags = (args: string[]): { "no-worker"?: boolean; edge?: string; inspect?: string; heap?: string } => {
  try {
    return parseArgs({ args, options: FLAGS }).values;
  } catch (error) {
    throw new ExitError(`${(error as Error).message}\nnpm start -- --help lists the options.`, 2);
  }
};

const readEdge = (text: string | undefined, platform: NodeJS.Platform): Settings["edge"] => {
  if (text === undefined) return platform === "win32" ? "workerd" : "node";
  if (text === "node" && platform === "win32")
    throw new ExitError("--edge node does not run on Windows: remove it.", 2);
  if (text === "node" || text === "workerd") return text;
  throw new ExitError(`--edge is "${text}": use node or workerd.`, 2);
};

const readCompaction = (text: string | undefined): Compaction => {
  if (!text) return "quick";
  return text === "1" ? "always" : "never";
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
