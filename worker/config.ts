// The parts of the coordinator's config that a worker uses: its runtime's model and the job timeout. Read at the start
// and before each job, so that a change applies to the next one and an idle worker asks for nothing. A job on a socket
// comes with the version that the coordinator has; what is known is not read, and what is unchanged not sent again. If
// it cannot be read, the last known config stays in force.

import { parse as parseYaml } from "yaml";
import * as z from "zod";
import { localRuntimeOf } from "../contract/words/values.ts";
import { textWithin } from "./calls/text-within.ts";

export type WorkerConfig = { model: string | null; timeoutSeconds: number | null };

export type ConfigWatch = {
  current: () => WorkerConfig;
  /** Resolves when the config has been read after this call. */
  refresh: () => Promise<void>;
  /**
   * The config for a job that begins now. `newest`: the ETag that the coordinator had as it gave out the job; a config
   * with this ETag is not read again. `mayWait`: the job waits a short time for the config to be read. For a job that
   * may not wait, it is read a moment later, so that the read does not delay the job's call of its runtime.
   */
  forJob: (mayWait: boolean, newest?: string) => WorkerConfig | Promise<WorkerConfig>;
};

type ConfigWatchOptions = {
  configUrl: string;
  apiUrl: string;
  apiKey: string;
  /** The runtime's name, which is also the config section with its model. */
  runtime: string;
  log: (line: string) => void;
  fetch?: typeof fetch;
};

const DEFAULT_TIMEOUT_SECONDS = 900;
const FETCH_TIMEOUT_MS = 10_000;
const MAX_CONFIG_BYTES = 1024 * 1024;
/** A job does not wait longer for the config, and not at all while an earlier one waited in vain. */
const GRACE_MS = 1_000;
const READ_LATER_MS = 100;

const sections = z.record(z.string(), z.unknown());
const jobsSection = z.object({ timeout_seconds: z.number().positive().nullish() });
const runtimeSection = z.object({ model: z.string().min(1).nullish() });

export const watchConfig = (options: ConfigWatchOptions): ConfigWatch => {
  let config: WorkerConfig = { model: null, timeoutSeconds: DEFAULT_TIMEOUT_SECONDS };
  let etag: string | null = null;
  let lastTrouble = "";
  const load = async () => {
    const answer = await fetchConfig(options, etag);
    if (answer === null) return;
    const next = readConfig(answer.text, options.runtime);
    if (JSON.stringify(next) !== JSON.stringify(config)) {
      options.log(`config: model ${next.model ?? "unset"}, timeout ${next.timeoutSeconds ?? "none"}`);
    }
    config = next;
    etag = answer.etag;
  };
  const read = async () => {
    const trouble = await load().then(
      () => "",
      (error: Error) => `the config at ${withoutQuery(options.configUrl)} was not read: ${error.message}`,
    );
    // Logged once, not for each try.
    if (trouble !== "" && trouble !== lastTrouble) options.log(trouble);
    lastTrouble = trouble;
  };
  const refresh = shared(read);
  let isLate = false;
  let isReadLater = false;
  const readLater = () => {
    if (isReadLater) return;
    isReadLater = true;
    const reading = () => {
      isReadLater = false;
      void refresh();
    };
    setTimeout(reading, READ_LATER_MS).unref();
  };
  const current = () => config;
  /** Of the jobs that begin while it is read, one waits for all. */
  let awaited: { reading: Promise<void>; config: Promise<WorkerConfig> } | null = null;
  const within = (reading: Promise<void>): Promise<WorkerConfig> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => {
        isLate = true;
        resolve(config);
      }, GRACE_MS);
      void reading.then(() => {
        clearTimeout(timer);
        isLate = false;
        resolve(config);
      });
    });
  const forJob = (mayWait: boolean, newest?: string) => {
    if (newest !== undefined && newest === etag) return config;
    if (!mayWait) {
      readLater();
      return config;
    }
    const reading = refresh();
    if (isLate) return config;
    if (awaited?.reading !== reading) awaited = { reading, config: within(reading) };
    return awaited.config;
  };
  return { current, refresh, forJob };
};

/** Calls during a run share the next one, because the one under way may have begun before a change. */
const shared = (run: () => Promise<void>): (() => Promise<void>) => {
  let underWay: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const begin = (): Promise<void> => {
    next = null;
    underWay = run().finally(() => {
      underWay = null;
    });
    return underWay;
  };
  return () => {
    if (underWay === null) return begin();
    next ??= underWay.then(begin);
    return next;
  };
};

/** A local runtime's section has its name or one of its aliases. */
const sectionOf = (config: Readonly<Record<string, unknown>>, runtime: string): unknown => {
  const named = Object.keys(config).find((name) => name !== runtime && localRuntimeOf(name) === runtime);
  return config[runtime] ?? (named === undefined ? {} : config[named]);
};

/** @throws Error that names the field and what is wrong with it. Other sections are not checked. */
export const readConfig = (text: string, runtime: string): WorkerConfig => {
  // YAML includes JSON. The check for duplicate keys takes quadratic time, and the coordinator has already done it.
  const parsed = sections.safeParse(parseYaml(text, { uniqueKeys: false }) ?? {});
  if (!parsed.success) throw new Error("it is not a mapping of sections");
  const jobs = jobsSection.safeParse(parsed.data.jobs ?? {});
  if (!jobs.success) throw new Error("jobs.timeout_seconds must be a positive number or null");
  const section = runtimeSection.safeParse(sectionOf(parsed.data, runtime));
  if (!section.success) throw new Error(`${runtime}.model must be the name of a model`);
  const { timeout_seconds: timeout } = jobs.data;
  return {
    model: section.data.model ?? null,
    timeoutSeconds: timeout === undefined ? DEFAULT_TIMEOUT_SECONDS : timeout,
  };
};

/** Null if nothing changed. The key is sent to the coordinator only, wherever the config is. */
const fetchConfig = async (
  options: ConfigWatchOptions,
  etag: string | null,
): Promise<{ text: string; etag: string | null } | null> => {
  const isCoordinators = new URL(options.configUrl).origin === new URL(options.apiUrl).origin;
  const response = await (options.fetch ?? fetch)(options.configUrl, {
    redirect: "error",
    signal: AbortSignal.timeout(FETCH_TIMEOUT_MS),
    headers: {
      accept: "application/json, application/yaml;q=0.9, */*;q=0.1",
      ...(isCoordinators ? { authorization: `Bearer ${options.apiKey}` } : {}),
      ...(etag === null ? {} : { "if-none-match": etag }),
    },
  }).catch(() => {
    throw new Error("it cannot be reached");
  });
  const text = await textWithin(response, MAX_CONFIG_BYTES);
  if (response.status === 304) return null;
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return { text, etag: response.headers.get("etag") };
};

const withoutQuery = (url: string): string => url.replace(/[?#].*$/, "");
