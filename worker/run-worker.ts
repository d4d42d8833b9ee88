// The worker process: reads the settings, finds its runtime, and runs jobs until SIGTERM, SIGINT or npx's end. Exit
// codes: 0 after a signal, 1 if the key or the runtime's address is refused, 2 for wrong settings. A second signal ends
// it at once.

import { readFileSync } from "node:fs";
import { isSendableKey, UNSENDABLE_KEY } from "../contract/text/secret-text.ts";
import { npx, VERSION } from "../contract/words/version.ts";
import { logProblem } from "../log/log.ts";
import { goOnUnread } from "../log/unread.ts";
import type { Runtime } from "./calls/runtime.ts";
import { openCommand } from "./exec/open-command.ts";
import { greeting, versionWarning } from "./greeting.ts";
import { openWorkerLog, type WorkerLog } from "./log.ts";
import { Machine } from "./models/machine.ts";
import { openManager } from "./models/open-manager.ts";
import { listedFiles, runOnce } from "./once.ts";
import { discoverRuntime, identifyRuntime } from "./runtimes/discovery.ts";
import { ECHO_MODEL } from "./runtimes/echo.ts";
import { openRuntime } from "./runtimes/open-runtime.ts";
import { environmentKeys, keyVariable, type ProviderKeys } from "./runtimes/provider-keys.ts";
import { HOSTED_PROVIDERS } from "./runtimes/providers.ts";
import { readSettings, type Settings, usageOf } from "./settings.ts";
import { startWork } from "./start-work.ts";

/**
 * Supervisors kill a process 10 s (Docker, `npm start`) to 30 s after SIGTERM; this leaves time to give back unfinished
 * jobs.
 */
const GRACE_MS = 8_000;

/** A terminal signals the whole group, and npm passes the same signal on: both are one Ctrl-C. */
const ECHO_OF_SIGNAL_MS = 500;

const LOOK_FOR_PARENT_EVERY_MS = 1_000;

/** Its name and its parent; null where the system does not say them as Linux does. */
const processOf = (pid: number): { name: string; parent: string } | null => {
  try {
    const [, name, parent] = /\((.*)\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, "utf8")) ?? [];
    return name === undefined || parent === undefined ? null : { name, parent };
  } catch {
    return null;
  }
};

/** Read at once: they may end while the worker starts. */
const STARTED_BY = { pid: process.ppid, process: processOf(process.ppid) };

class Mistake extends Error {}

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs until a signal. `command` is how it was started. @returns the exit code; errors have been printed. */
export const runWorker = async (
  args: readonly string[],
  env: Environment,
  command = "npm run worker --",
): Promise<number> => {
  // The AI SDK's warnings could contain keys and prompts.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });
  goOnUnread();
  try {
    return await run(args, env, command);
  } catch (error) {
    // A mistake of the operator is printed in one line; anything else is a bug and printed with its stack.
    console.error(error instanceof Mistake ? `worker: ${error.message}` : error);
    return 1;
  }
};

const run = async (args: readonly string[], env: Environment, command: string): Promise<number> => {
  const read = readSettings(args, env);
  if (read.ok === "help") {
    console.log(usageOf(command));
    return 0;
  }
  if (!read.ok) {
    console.error(`worker: ${read.problems.join("\n  ")}\n${command} --help lists the flags.`);
    return 2;
  }
  const logSettings = { SERVICE_LOG: env.SERVICE_LOG, SERVICE_LOG_LEVEL: env.SERVICE_LOG_LEVEL };
  const mistyped = logProblem(logSettings);
  if (mistyped !== null) {
    console.error(`worker: ${mistyped}`);
    return 2;
  }
  const { settings } = read;
  const keys = environmentKeys(env);
  if (settings.once !== null) return once(settings, settings.once, keys);
  const log = openWorkerLog(logSettings, settings.instance);
  const runtime =
    settings.exec === null ? await chooseRuntime(settings, keys) : openCommand(settings.exec, settings, log);
  const machine = await openMachine(settings, runtime, env, keys);
  const refused = await work(settings, runtime, machine, log, env);
  if (refused !== null) throw new Mistake(refused);
  return 0;
};

/** @returns why the coordinator refused this worker, or null after a signal. */
const work = async (
  settings: Settings,
  runtime: Runtime,
  machine: Machine,
  log: WorkerLog,
  env: Environment,
): Promise<string | null> => {
  const { apiUrl, apiKey, configUrl, instance, tags, tier, concurrency, opening } = settings;
  const provider = settings.provider ?? runtime.name;
  // Echo offers one model, so that it never answers for another.
  const models = settings.models.length === 0 && runtime.name === "echo" ? [ECHO_MODEL] : settings.models;
  const identity = { instance, provider, tags, models, tier, concurrency, version: VERSION };
  log(greeting(settings, runtime));
  void versionWarning(apiUrl, (address) => `${npx(address)} worker`).then(
    (words) => words !== null && log(words, { event: "worker.other_version", level: "warn" }),
  );
  const parts = { identity, runtime, machine, log, ...(opening ? { opening } : {}) };
  const started = startWork({ apiUrl, apiKey, configUrl, ...parts });
  onEnd(log, env, () => void started.then(({ drain }) => drain(GRACE_MS)));
  const { ended } = await started;
  return ended;
};

const openMachine = async (
  { provider, manageModels, maxModelGb }: Settings,
  runtime: Runtime,
  env: Environment,
  keys: ProviderKeys,
): Promise<Machine> => {
  const key = await keys.resolve(`provider:${provider ?? runtime.name}`);
  const manager = openManager(runtime, key, env);
  if (manageModels && manager === null)
    throw new Mistake(`--manage-models: the models of ${runtime.name} cannot be managed`);
  return new Machine({ manager, isManaged: manageModels, maxModelGb });
};

/** Its report is all that goes to stdout. */
const once = async (settings: Settings, text: string, keys: ProviderKeys): Promise<number> => {
  const { files, keep } = listedFiles();
  const { exec, models } = settings;
  const say = (line: string) => console.error(line);
  const runtime = exec === null ? await chooseRuntime(settings, keys) : openCommand(exec, settings, say, keep);
  const ran = await runOnce({ text, runtime, models, files });
  if (!ran.ok) {
    say(`worker: ${ran.problem}`);
    return 2;
  }
  // A pipe takes it in parts, and the process ends after this.
  await new Promise((written) => process.stdout.write(`${JSON.stringify(ran.report)}\n`, written));
  return ran.report.status === "completed" ? 0 : 1;
};

const chooseRuntime = async (settings: Settings, keys: ProviderKeys): Promise<Runtime> => {
  const { name, url } = await findRuntime(settings);
  const keyRefs = [...new Set([settings.provider ?? name, name])].map((provider) => `provider:${provider}`);
  if (HOSTED_PROVIDERS[name] !== undefined) {
    const found = await Promise.all(keyRefs.map((ref) => keys.resolve(ref)));
    const key = found.find((one) => one !== null) ?? null;
    if (key === null) throw new Mistake(`no key for ${name}: set ${keyVariable(name)}`);
    if (!isSendableKey(key)) throw new Mistake(`the key for ${name} ${UNSENDABLE_KEY}`);
  }
  return openRuntime(name, { keys, keyRefs, runtimeUrl: url });
};

const findRuntime = async ({ runtime, runtimeUrl }: Settings): Promise<{ name: string; url: string | null }> => {
  if (runtime !== null) return { name: runtime, url: runtimeUrl };
  if (runtimeUrl === null) return (await discoverRuntime()) ?? { name: "echo", url: null };
  const name = await identifyRuntime(runtimeUrl);
  if (name !== null) return { name, url: runtimeUrl };
  throw new Mistake(
    `no model runtime answers at SERVICE_RUNTIME_URL ${runtimeUrl}: start it, or name its kind with --runtime`,
  );
};

const onEnd = (log: WorkerLog, env: Environment, drain: () => void): void => {
  let drainsSinceMs: number | null = null;
  const handle = (signal: string) => {
    if (drainsSinceMs !== null) {
      if (performance.now() - drainsSinceMs >= ECHO_OF_SIGNAL_MS) process.exit(1);
      return;
    }
    drainsSinceMs = performance.now();
    log(`${signal}: taking no new jobs, finishing running jobs`);
    drain();
  };
  process.on("SIGTERM", handle);
  process.on("SIGINT", handle);
  // Windows has no signal that asks a process to end: who started this one says it, as PM2 does.
  process.on("message", (told) => {
    if (told === "shutdown") handle("shutdown");
  });
  process.channel?.unref();
  if (env.npm_lifecycle_event === "npx") onParentGone(() => drainsSinceMs ?? handle("npx has ended"));
};

/**
 * npx starts it through a shell that does not pass SIGTERM on: the signal ends only npx and the shell. SIGKILL ends
 * only npx, and the shell gets another parent. If the shell has become the worker, only npx is watched.
 */
const onParentGone = (act: () => void): void => {
  const { pid, process: parent } = STARTED_BY;
  const isShell = parent !== null && /^\w*sh$/.test(parent.name);
  const isThere = (): boolean =>
    process.ppid === pid && (!isShell || (processOf(pid) ?? parent).parent === parent.parent);
  const timer = setInterval(() => {
    if (isThere()) return;
    clearInterval(timer);
    act();
  }, LOOK_FOR_PARENT_EVERY_MS);
  timer.unref();
};
