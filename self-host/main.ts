// The coordinator on this machine, from its start to its end. The edge runs in this process; the bundle of a deploy runs
// on workerd behind it, with its state in the data folder and a local worker beside it. They are stopped in order.
// Invariant: nothing is served before migrations are applied and keys are kept, and nothing outlives this process.

import { mkdirSync, rmSync } from "node:fs";
import { flushCompileCache } from "node:module";
import path from "node:path";
import { entryOf } from "../domain/words/entry-of.ts";
import { configureLog, log, writeLogTo } from "../log/log.ts";
import { goOnUnread } from "../log/unread.ts";
import type { Proxies } from "../worker/dispatcher.ts";
import { proxiesIn } from "../worker/proxies.ts";
import { builtProject, type Project } from "./build/project.ts";
import { watchClock } from "./children/clock-watch.ts";
import { startLocalWorker } from "./children/local-worker.ts";
import { claimPort } from "./claim-port.ts";
import { applyMigrations } from "./d1-migrations.ts";
import { compactDatabases } from "./data/compact.ts";
import { type DataDir, dataDirAt, dataRoot, lockDataDir, makeStateFolders, requireWritable } from "./data/data-dir.ts";
import { fullDiskError } from "./data/disk.ts";
import { removeEmptied } from "./data/emptied.ts";
import { keepSecret, readSecret } from "./data/kept-secret.ts";
import { keepProcessCount } from "./data/process-count.ts";
import { markState, refuseNewerState } from "./data/written-by.ts";
import {
  ensureDefaultTenant,
  ensureWorkerKey,
  isKeyRefused,
  isTenantKept,
  markFirstStart,
  TENANT,
} from "./default-tenant.ts";
import { ExitError, runScript } from "./exit-error.ts";
import { databasesBelow } from "./files-below.ts";
import { serveFreezing } from "./freeze.ts";
import { gatheredLog } from "./gathered-log.ts";
import { nextCommand } from "./next-command.ts";
import { type Address, type Served, waitUntilHealthy } from "./served.ts";
import { passedEnvironment, readExtraCatalog, readSignIn } from "./settings/edge-environment.ts";
import { readExtraCertificates } from "./settings/extra-certificates.ts";
import { isHelpAsked, readSettings, type Settings, USAGE } from "./settings/settings.ts";
import { unknownNames } from "./settings/unknown-names.ts";
import { startWorkerdHome } from "./workerd-home.ts";

const LOOPBACK = "127.0.0.1";
const ANY_PORT = 0;
const WILDCARDS: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };

interface Plan {
  settings: Settings;
  project: Project;
  dir: DataDir;
  address: Address;
  environment: Record<string, string>;
  certificates: readonly string[];
  proxies: Proxies | null;
  processCount: number;
}

const stopRequested = (): Promise<"stop"> =>
  new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => resolve("stop"));
  });

const readEnvironment = async (project: Project, dir: DataDir): Promise<Record<string, string>> => ({
  ...passedEnvironment(project.vars, process.env),
  ...(await readExtraCatalog(process.env)),
  ...(await readSignIn(process.env)),
  SERVICE_ROOT_KEY: keepSecret(process.env.SERVICE_ROOT_KEY, dir.rootKey),
  SERVICE_SIGNING_SECRET: keepSecret(process.env.SERVICE_SIGNING_SECRET, dir.signingSecret),
});

const addressOn = async (host: string, wanted: number): Promise<Address> => {
  const port = await claimPort(host, wanted);
  const name = entryOf(WILDCARDS, host) ?? (host.includes(":") ? `[${host}]` : host);
  return { host, port, url: `http://${name}:${port}` };
};

const readProxies = (): Proxies | null => {
  try {
    return proxiesIn(process.env);
  } catch (error) {
    throw new ExitError(`${(error as Error).message}.`);
  }
};

const makePlan = async (settings: Settings, dir: DataDir): Promise<Plan> => {
  const project = builtProject();
  const address = await addressOn(settings.host, settings.port);
  const certificates = readExtraCertificates(process.env);
  const proxies = readProxies();
  const environment = await readEnvironment(project, dir);
  configureLog(environment);
  const gathered = gatheredLog();
  writeLogTo(gathered);
  process.on("exit", gathered.flush);
  const ended = process.env.SERVICE_STARTED_AGAIN;
  if (ended) log("error", "process.ended", { detail: `The serving process ${ended}; it is started again.` });
  const processCount = keepProcessCount(dir, settings.processCount);
  return { settings, project, dir, address, environment, certificates, proxies, processCount };
};

const prepareState = async ({ settings, project, dir }: Plan): Promise<void> => {
  makeStateFolders(dir);
  if (settings.keepsArchive) mkdirSync(dir.archive, { recursive: true, mode: 0o700 });
  compactDatabases(dir, removeEmptied(databasesBelow(dir.state)), settings.compaction);
  await applyMigrations(project, dir);
  markState(dir);
};

/** `awaited` is the worker that GET /health waits for at first. */
const serve = async (plan: Plan, address: Address, awaited?: string): Promise<Served> => {
  const { edge, heapMib, inspectorPort, trustedProxies, keepsArchive } = plan.settings;
  const homePlan = { ...plan, awaited, heapMib, inspectorPort, trustedProxies, keepsArchive };
  if (edge === "workerd") return startWorkerdHome(homePlan, address);
  // The app takes time to load, so it is loaded only if it is served here.
  const { startNodeHome } = await import("./edge/node-home.ts");
  return startNodeHome(homePlan, address);
};

/**
 * Creates missing keys while serving on a private port, so that they exist when the service first answers publicly.
 * Resolves to what serves there; null if the tenant's key was lost.
 */
const makeKeys = async (plan: Plan): Promise<Served | null> => {
  const { dir, settings, environment } = plan;
  let address = await addressOn(LOOPBACK, ANY_PORT);
  while (address.port === plan.address.port) address = await addressOn(LOOPBACK, ANY_PORT);
  const served = await serve(plan, address);
  let isKept = false;
  try {
    await waitUntilHealthy(served);
    isKept = (await ensureDefaultTenant(address.url, environment.SERVICE_ROOT_KEY ?? "", dir)) === "ready";
    if (isKept && settings.runsWorker) await tryWorkerKey(plan, address);
  } finally {
    if (!isKept) await served.stop();
  }
  return isKept ? served : null;
};

/** A server without its local worker is still useful, so a failure here is printed and ignored. */
const tryWorkerKey = async ({ dir }: Plan, { url }: Address): Promise<void> => {
  try {
    await ensureWorkerKey(url, dir);
  } catch (error) {
    console.error(`${(error as Error).message}\nThere is no local worker.`);
  }
};

/**
 * Applies the migrations and keeps the keys. An interrupted first start begins again from nothing. Resolves to what
 * serves privately, if keys had to be made.
 */
const prepare = async (plan: Plan): Promise<Served | null> => {
  const { dir, settings } = plan;
  for (let attempt = 1; attempt <= 2; attempt++) {
    await prepareState(plan);
    if (isTenantKept(dir) && (!settings.runsWorker || readSecret(dir.workerKey))) return null;
    const served = await makeKeys(plan);
    if (served !== null) return served;
    rmSync(dir.state, { recursive: true, force: true });
  }
  throw new ExitError(`The tenant "${TENANT}" could not be created. Start with an empty SERVICE_DATA_DIR.`);
};

/** Serves publicly; what served privately goes on if it can. */
const servePublicly = async (plan: Plan, before: Served | null, awaited?: string): Promise<Served> => {
  if (before?.moveTo !== undefined) return before.moveTo(plan.address, awaited);
  await before?.stop();
  return serve(plan, plan.address, awaited);
};

const localWorkerOf = ({ settings, dir, address: { url } }: Plan, key: string) => {
  const hasKeyEnded = () => isKeyRefused(url, key);
  return { url, key, keyFile: dir.workerKey, hasKeyEnded, instance: settings.workerInstance };
};

/** Serves, together with the local worker, until it is stopped. */
const run = async (plan: Plan, before: Served | null, stop: Promise<"stop">): Promise<void> => {
  const { settings, dir } = plan;
  const instance = settings.workerInstance;
  const key = settings.runsWorker ? readSecret(dir.workerKey) : undefined;
  const served = await servePublicly(plan, before, key && `${TENANT}/${instance}`);
  const freezing = await serveFreezing(dir, served);
  const clock = watchClock(served.renew);
  const worker = key ? startLocalWorker(localWorkerOf(plan, key)) : undefined;
  const ending = new AbortController();
  const serving = async (): Promise<"stop"> => {
    await waitUntilHealthy(served, ending.signal);
    await announce(plan);
    return stop;
  };
  try {
    const ready = serving();
    // Stopped before it was ready: nothing waits for that any more.
    ready.catch(() => undefined);
    await Promise.race([stop, ready]);
  } finally {
    ending.abort();
    clock.stop();
    await worker?.stop();
    freezing.close();
    await served.stop();
  }
};

const announce = async ({ settings, dir, address: { url, port } }: Plan): Promise<void> => {
  const shown = (file: string) => {
    const near = path.relative(process.cwd(), file);
    return near.startsWith("..") ? file : near;
  };
  const kept = readSecret(dir.adminKey) ?? "";
  const hasEnded = await isKeyRefused(url, kept);
  console.log(`Signalbox is ready. Dashboard and API: ${url}`);
  // From now on the process that started this one starts it again if it dies, on the same port.
  process.send?.({ servingPort: port });
  // On a terminal a link may contain the key; in a log the key would stay for ever.
  const key = process.stdout.isTTY && !hasEnded ? kept : undefined;
  if (key) console.log(`Sign in by opening:                   ${url}/#key=${key}`);
  console.log(`Admin key of the tenant "default":    ${shown(dir.adminKey)}${hasEnded ? " (it has ended)" : ""}`);
  if (!process.env.SERVICE_ROOT_KEY) console.log(`Root key, for more tenants:           ${shown(dir.rootKey)}`);
  if (!/^(localhost|127\.|::1$)/.test(settings.host)) {
    console.log(
      `It listens on ${settings.host} without TLS: put a reverse proxy with TLS between it and other machines.`,
    );
  }
  if (key) console.log(`\nNext, in another terminal:\n  ${nextCommand(url, path.resolve(dir.adminKey))}`);
  flushCompileCache();
};

const main = async (): Promise<number> => {
  const args = process.argv.slice(2);
  if (isHelpAsked(args)) {
    console.log(USAGE);
    return 0;
  }
  const settings = readSettings(args, process.env);
  goOnUnread();
  for (const words of unknownNames(USAGE, process.env)) console.error(words);
  const stop = stopRequested();
  let isStarting = true;
  // Before it serves there is nothing to stop in order: the guards end the children.
  stop.then(() => isStarting && process.exit(0));
  const dir = dataDirAt(settings.dataDir);
  const lock = await lockDataDir(dir);
  requireWritable(dir);
  refuseNewerState(dir);
  const plan = await makePlan(settings, dir);
  markFirstStart(dir);
  const before = await prepare(plan);
  isStarting = false;
  await run(plan, before, stop);
  lock.close();
  return 0;
};

/** A full disk makes a start fail in many places; this turns each into one clear message. */
const explained = async (): Promise<number> => {
  try {
    return await main();
  } catch (error) {
    throw fullDiskError(error, dataRoot(process.env)) ?? error;
  }
};

await runScript(explained);
// What a start that fails has begun would keep this process alive: the guards end the children.
process.exit();
