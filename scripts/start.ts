// `npm start`: the coordinator on this machine. The bundle that a deploy would send runs on workerd, with its state in
// the data folder; this process only prepares it, keeps a local worker beside it, and ends both in order.
// Invariant: nothing is served before the migrations are in, and nothing outlives this process.

import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { loadProject, type Project } from "./build/project.ts";
import { buildAll } from "./build.ts";
import { ExitError, runScript } from "./exit-error.ts";
import { applyMigrations } from "./self-host/d1-migrations.ts";
import { type DataDir, dataDirAt, lockDataDir, makeStateFolders } from "./self-host/data-dir.ts";
import { ensureDefaultTenant, ensureWorkerKey, markFirstStart } from "./self-host/default-tenant.ts";
import { keepSecret, readSecret } from "./self-host/kept-secret.ts";
import { type LocalWorker, startLocalWorker } from "./self-host/local-worker.ts";
import { servingConfig } from "./self-host/serving-config.ts";
import { passedEnvironment, readExtraCatalog, readSettings, type Settings } from "./self-host/settings.ts";
import { describeExit, type Supervised } from "./self-host/supervised.ts";
import { claimPort, startWorkerd, waitUntilHealthy } from "./self-host/workerd.ts";
import { markState, refuseNewerState } from "./self-host/written-by.ts";

/** workerd has nothing to save when it stops, but lets requests in flight end. */
const WORKERD_GRACE_MS = 2_000;
const WILDCARDS: Record<string, string> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };

interface Plan {
  settings: Settings;
  project: Project;
  dir: DataDir;
  port: number;
  url: string;
  environment: Record<string, string>;
}

function stopRequested(): Promise<"stop"> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => resolve("stop"));
  });
}

function readEnvironment(project: Project, dir: DataDir): Record<string, string> {
  return {
    ...passedEnvironment(project.vars, process.env),
    ...readExtraCatalog(process.env),
    SERVICE_ROOT_KEY: keepSecret(process.env.SERVICE_ROOT_KEY, dir.rootKey),
    SERVICE_SIGNING_SECRET: keepSecret(process.env.SERVICE_SIGNING_SECRET, dir.signingSecret),
  };
}

async function makePlan(settings: Settings, dir: DataDir): Promise<Plan> {
  const project = await loadProject();
  const port = await claimPort(settings.host, settings.port);
  const host = WILDCARDS[settings.host] ?? (settings.host.includes(":") ? `[${settings.host}]` : settings.host);
  return { settings, project, dir, port, url: `http://${host}:${port}`, environment: readEnvironment(project, dir) };
}

async function serve({ settings, project, dir, port, url, environment }: Plan): Promise<Supervised> {
  makeStateFolders(dir);
  await applyMigrations(project, dir);
  markState(dir);
  const names = Object.keys(environment);
  const config = servingConfig({ project, dir, host: settings.host, port, environment: names });
  writeFileSync(dir.servingConfig, config, { mode: 0o600 });
  const workerd = startWorkerd(dir, environment);
  try {
    await waitUntilHealthy(workerd, url);
    return workerd;
  } catch (error) {
    await workerd.stop(WORKERD_GRACE_MS);
    throw error;
  }
}

/** Serves with the tenant in place. A first start that was cut short is begun again from nothing. */
async function serveWithTenant(plan: Plan): Promise<Supervised> {
  const { dir, url, environment } = plan;
  for (let attempt = 1; attempt <= 2; attempt++) {
    const workerd = await serve(plan);
    try {
      if ((await ensureDefaultTenant(url, environment.SERVICE_ROOT_KEY ?? "", dir)) === "ready") return workerd;
    } catch (error) {
      await workerd.stop(WORKERD_GRACE_MS);
      throw error;
    }
    await workerd.stop(WORKERD_GRACE_MS);
    rmSync(dir.state, { recursive: true, force: true });
  }
  throw new ExitError(`The tenant "default" could not be made. Start with an empty SERVICE_DATA_DIR.`);
}

/** A server without its local worker is still a server: a failure here is said and survived. */
async function tryLocalWorker({ settings, dir, url }: Plan): Promise<LocalWorker | undefined> {
  if (!settings.runsWorker) return undefined;
  try {
    return startLocalWorker({ url, key: await ensureWorkerKey(url, dir), instance: settings.workerInstance });
  } catch (error) {
    console.error(`${(error as Error).message}\nThere is no local worker.`);
    return undefined;
  }
}

function announce({ settings, dir, url }: Plan): void {
  const shown = (file: string) => path.relative(process.cwd(), file) || file;
  console.log(`Signalbox is ready. Dashboard and API: ${url}`);
  // A person at a terminal may be signed in by a click; in a log the key would stay for ever.
  const key = process.stdout.isTTY ? readSecret(dir.adminKey) : undefined;
  if (key) console.log(`Sign in by opening:                   ${url}/#key=${key}`);
  console.log(`Admin key of the tenant "default":    ${shown(dir.adminKey)}`);
  if (!process.env.SERVICE_ROOT_KEY) console.log(`Root key, for more tenants:           ${shown(dir.rootKey)}`);
  if (!/^(localhost|127\.|::1$)/.test(settings.host)) {
    console.log(
      `It listens on ${settings.host} without TLS: put a reverse proxy with TLS between it and other machines.`,
    );
  }
}

async function main(): Promise<number> {
  const settings = readSettings(process.argv.slice(2), process.env);
  const stop = stopRequested();
  let isStarting = true;
  // Before it is ready there is nothing to end in order: the guards take the children along.
  stop.then(() => isStarting && process.exit(0));
  const dir = dataDirAt(settings.dataDir);
  const lock = await lockDataDir(dir);
  refuseNewerState(dir);
  await buildAll((part) => console.log(`Built the ${part}.`));
  const plan = await makePlan(settings, dir);
  markFirstStart(dir);
  const workerd = await serveWithTenant(plan);
  const worker = await tryLocalWorker(plan);
  announce(plan);
  isStarting = false;
  const ending = await Promise.race([stop, workerd.exited]);
  await worker?.stop();
  await workerd.stop(WORKERD_GRACE_MS);
  lock.close();
  if (ending === "stop") return 0;
  throw new ExitError(`workerd ${describeExit(ending)} by itself. Nothing acknowledged is lost: start again.`);
}

await runScript(main);
