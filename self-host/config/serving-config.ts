// The workerd configs that serve the project: wrangler.toml's bindings, with their storage in the data folder. Like
// `workerd serve wrangler.json`, with three differences that a server needs: storage keys that do not change with the
// project's name or database id, secrets from the environment and never in a file, and LOCAL_NETWORK, the only access
// to private addresses (plain fetch() reaches public ones only).

import path from "node:path";
import { DASHBOARD_DIRECTORY, WORKER_DIRECTORY, WORKER_ENTRY } from "../build/places.ts";
import type { Project } from "../build/project.ts";
import type { DataDir } from "../data/data-dir.ts";
import { ExitError } from "../exit-error.ts";
import { filesBelow } from "../files-below.ts";
import { ROOT } from "../run-command.ts";
import { configText, type Expression, embed, type Field, record } from "./capnp-text.ts";
import { type Detours, detourSockets, networkServices } from "./networks.ts";

/** The compatibility date of the services that come with workerd, as workerd itself sets it. */
const BUNDLED_DATE = "2026-01-01";
const EDGE = "edge";
/** Never change these: they name the folders with the data. */
const STORAGE_KEY = {
  database: "D1Database",
  cron: "Schedule",
  object: (className: string) => `signalbox-${className}`,
};

/** For the objects, and for the edge before them (`durable-objects/object-name.ts`). */
export const LAYOUT = { SHARED_RELAYS: "1" };

interface Serving {
  project: Project;
  /** Folders of the objects and crons of this process. */
  storage: { objects: string; crons: string };
  /** Where the config is written; module paths are relative to it. */
  configFile: string;
  /** What gives the archive's folder to the edge: a service of workerd, or Node behind a socket; null: no archive. */
  archive: { folder: string } | { socket: string } | null;
  /** Names of environment variables that the edge gets as text bindings. */
  environment: readonly string[];
  /** Certificate authorities that are trusted besides the public ones, each in PEM. */
  certificates: readonly string[];
  /** Null: no proxy leads out. */
  detours: Detours | null;
  /** What V8 may take for its heap, as a bound; undefined: what it takes by itself. */
  heapMib: number | undefined;
}

/** One process that serves the edge and the objects on the network, and has the history if no other has it. */
export function wholeConfig(
  serving: Serving,
  history: HistorySockets | DataDir,
  at: { host: string; port: number },
): string {
  const { project } = serving;
  const services = isFolder(history)
    ? [...databaseServices(history), edgeService(serving, databaseBinding)]
    : [...remoteServices(history), edgeService(serving, remoteDatabaseBinding)];
  // With run_worker_first the assets' router would pass every request on, so the socket leads past it.
  const front = project.assets && project.assets.runWorkerFirst !== true ? "assets" : EDGE;
  const address = `${at.host.includes(":") ? `[${at.host}]` : at.host}:${at.port}`;
  const sockets = [
    record({ name: "http", address, http: record({}), service: front }),
    ...detourSockets(serving.detours),
  ];
  return configText([...servingServices(serving), ...services], sockets, v8FlagsOf(serving));
}

const isFolder = (history: HistorySockets | DataDir): history is DataDir => "databases" in history;

/** A process of objects behind the edge in Node; the history is in another process. */
export function objectsConfig(
  serving: Serving,
  sockets: { edge: string; door: string; history: HistorySockets; isFirst: boolean },
): string {
  const services = [
    ...servingServices(serving),
    ...remoteServices(sockets.history),
    edgeService(serving, remoteDatabaseBinding),
  ];
  const door = record({ name: EDGE, entrypoint: "PrivateDoor" });
  const listened = [
    record({ name: "edge", address: `unix:${sockets.edge}`, http: record({}), service: EDGE }),
    record({ name: "door", address: `unix:${sockets.door}`, http: record({}), service: door }),
    ...(sockets.isFirst ? detourSockets(serving.detours) : []),
  ];
  return configText(services, listened, v8FlagsOf(serving));
}

const v8FlagsOf = ({ heapMib }: Serving): string[] => (heapMib === undefined ? [] : [`--max-heap-size=${heapMib}`]);

/** Path of the Unix socket of each database, by its binding. */
export type HistorySockets = Readonly<Record<string, string>>;

/** The process with the history. */
export function historyConfig(dir: DataDir, sockets: HistorySockets): string {
  return configText(
    databaseServices(dir),
    Object.entries(sockets).map(([binding, socket]) =>
      record({ name: binding, address: `unix:${socket}`, http: record({}), service: database(binding) }),
    ),
  );
}

const archiveServices = ({ archive }: Serving): Expression[] => {
  if (archive === null) return [];
  if ("folder" in archive) return [disk("archive", archive.folder)];
  return [record({ name: "archive", external: record({ address: `unix:${archive.socket}`, http: record({}) }) })];
};

function servingServices(serving: Serving): Expression[] {
  const { project, storage } = serving;
  return [
    ...networkServices(serving.certificates, serving.detours),
    disk("objects", storage.objects),
    ...archiveServices(serving),
    ...cronServices(project, storage.crons),
    ...assetServices(project),
  ];
}

/** workerd's D1, shared by serving and by the migrations before it. */
export function databaseServices(dir: DataDir): Expression[] {
  const className = "D1Database";
  return [
    disk("d1-storage", dir.databases),
    service("d1", {
      modules: [record({ name: "d1.js", bundled: "/workerd/d1.js" })],
      compatibilityDate: BUNDLED_DATE,
      durableObjectNamespaces: [namespace(className, STORAGE_KEY.database, true)],
      durableObjectStorage: record({ localDisk: "d1-storage" }),
      bindings: [record({ name: "DATABASE", durableObjectNamespace: className })],
    }),
  ];
}

const database = (name: string): Expression =>
  record({ name: "d1", props: record({ json: JSON.stringify({ database: name }) }) });

export function databaseBinding(name: string): Expression {
  return wrappedDatabase(name, database(name));
}

const remoteServices = (history: HistorySockets): Expression[] =>
  Object.entries(history).map(([binding, socket]) =>
    record({ name: remoteOf(binding), external: record({ address: `unix:${socket}`, http: record({}) }) }),
  );

const remoteOf = (binding: string): string => `history-${binding}`;

function remoteDatabaseBinding(name: string): Expression {
  return wrappedDatabase(name, record({ name: remoteOf(name) }));
}

function wrappedDatabase(name: string, designator: Expression): Expression {
  const fetcher = record({ name: "fetcher", service: designator });
  return record({ name, wrapped: record({ moduleName: "cloudflare-internal:d1-api", innerBindings: [fetcher] }) });
}

export function service(name: string, worker: Record<string, Field>): Expression {
  return record({ name, worker: record(worker) });
}

function disk(name: string, directory: string): Expression {
  return record({ name, disk: record({ path: directory, writable: true }) });
}

function namespace(className: string, uniqueKey: string, enableSql: boolean): Expression {
  return record({ className, uniqueKey, enableSql });
}

function cronServices(project: Project, directory: string): Expression[] {
  if (project.crons.length === 0) return [];
  const worker = service("cron", {
    modules: [record({ name: "cron.js", bundled: "/workerd/cron.js" })],
    compatibilityDate: BUNDLED_DATE,
    compatibilityFlags: ["service_binding_extra_handlers"],
    durableObjectNamespaces: [namespace("Schedule", STORAGE_KEY.cron, true)],
    durableObjectStorage: record({ localDisk: "cron-storage" }),
    bindings: [
      record({ name: "SCHEDULE", durableObjectNamespace: "Schedule" }),
      record({ name: "CRONS", json: JSON.stringify({ [EDGE]: project.crons }) }),
      record({ name: EDGE, service: EDGE }),
    ],
  });
  return [disk("cron-storage", directory), worker];
}

function assetServices({ assets }: Project): Expression[] {
  if (!assets) return [];
  if (path.normalize(assets.directory) !== path.normalize(DASHBOARD_DIRECTORY)) {
    throw new ExitError(
      `wrangler.toml has assets in ${assets.directory}, but the dashboard builds to ${DASHBOARD_DIRECTORY}.`,
    );
  }
  const config = JSON.stringify({
    run_worker_first: assets.runWorkerFirst,
    ...(assets.notFoundHandling === undefined ? {} : { not_found_handling: assets.notFoundHandling }),
  });
  const directory = path.join(ROOT, assets.directory);
  return [record({ name: "assets", assets: record({ path: directory, config, userWorker: EDGE }) })];
}

function edgeService(
  { project, configFile, environment, archive }: Serving,
  toDatabase: (binding: string) => Expression,
): Expression {
  const fromEnvironment = new Set(environment);
  const vars = Object.entries(project.vars).filter(([name]) => !fromEnvironment.has(name));
  return service(EDGE, {
    modules: edgeModules(path.dirname(configFile)),
    compatibilityDate: project.compatibilityDate,
    compatibilityFlags: project.compatibilityFlags,
    durableObjectNamespaces: project.durableObjects.map(({ className, usesSql }) =>
      namespace(className, STORAGE_KEY.object(className), usesSql),
    ),
    durableObjectStorage: record({ localDisk: "objects" }),
    bindings: [
      ...project.durableObjects.map(({ binding, className }) =>
        record({ name: binding, durableObjectNamespace: className }),
      ),
      ...project.databases.map(({ binding }) => toDatabase(binding)),
      ...(project.assets?.binding
        ? [record({ name: project.assets.binding, service: record({ name: "assets", entrypoint: "AssetWorker" }) })]
        : []),
      ...vars.map(([name, value]) =>
        typeof value === "string" ? record({ name, text: value }) : record({ name, json: JSON.stringify(value) }),
      ),
      ...environment.map((name) => record({ name, fromEnvironment: name })),
      ...(archive === null ? [] : [record({ name: "ARCHIVE_FOLDER", service: "archive" })]),
      record({ name: "LOCAL_NETWORK", service: "private-network" }),
      ...Object.entries(LAYOUT).map(([name, text]) => record({ name, text })),
    ],
  });
}

const MODULE_KIND: Record<string, string> = { ".js": "esModule", ".mjs": "esModule", ".wasm": "wasm", ".bin": "data" };

/** The bundle's modules as written by the deploy's dry run, the entry first. */
function edgeModules(configDirectory: string): Expression[] {
  const bundle = path.join(ROOT, WORKER_DIRECTORY);
  const others = filesBelow(bundle)
    .map((file) => path.relative(bundle, file).replaceAll(path.sep, "/"))
    .filter((name) => name !== WORKER_ENTRY && !/(^|\/)README\.md$|\.map$/.test(name));
  return [WORKER_ENTRY, ...others].map((name) => {
    const kind = MODULE_KIND[path.extname(name)] ?? "text";
    return record({ name, [kind]: embed(configDirectory, path.join(bundle, name)) });
  });
}
