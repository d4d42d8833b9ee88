// The coordinator's config as far as a worker heeds it: its runtime's model and the jobs' timeout. Fetched at the start,
// with every presence and before a job that finds it old; what changed holds for the next job. While it cannot be had,
// the last known stays in force.

import { parse as parseYaml } from "yaml";
import * as z from "zod";
import { localRuntimeOf } from "../contract/values.ts";

export type WorkerConfig = { model: string | null; timeoutSeconds: number | null };

export type ConfigWatch = { current: () => WorkerConfig; refresh: () => Promise<void> };

export type ConfigWatchOptions = {
  configUrl: string;
  apiUrl: string;
  apiKey: string;
  /** Names the section of the config with the local model. */
  runtime: string;
  log: (line: string) => void;
  fetch?: typeof fetch;
};

const DEFAULT_TIMEOUT_SECONDS = 900;
const FETCH_TIMEOUT_MS = 10_000;
const MAX_CONFIG_CHARS = 1024 * 1024;

const sections = z.record(z.string(), z.unknown());
const jobsSection = z.object({ timeout_seconds: z.number().positive().nullish() });
const runtimeSection = z.object({ model: z.string().min(1).nullish() });

export function watchConfig(options: ConfigWatchOptions): ConfigWatch {
  let config: WorkerConfig = { model: null, timeoutSeconds: DEFAULT_TIMEOUT_SECONDS };
  let etag: string | null = null;
  let lastTrouble = "";
  let underWay: Promise<void> | null = null;
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
  return {
    current: () => config,
    refresh: () => {
      underWay ??= load()
        .then(
          () => "",
          (error: Error) => `config not read from ${withoutQuery(options.configUrl)}: ${error.message}`,
        )
        .then((trouble) => {
          // Said once, not each time.
          if (trouble !== "" && trouble !== lastTrouble) options.log(trouble);
          lastTrouble = trouble;
          underWay = null;
        });
      return underWay;
    },
  };
}

/** The section of a local runtime stands under its name or under one of its aliases. */
function sectionOf(config: Readonly<Record<string, unknown>>, runtime: string): unknown {
  const named = Object.keys(config).find((name) => name !== runtime && localRuntimeOf(name) === runtime);
  return config[runtime] ?? (named === undefined ? {} : config[named]);
}

/** @throws Error saying what is wrong with which field. Fields of others are not looked at. */
export function readConfig(text: string, runtime: string): WorkerConfig {
  // YAML holds JSON. Looking for keys that stand twice costs the square of their number: the coordinator has done it.
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
}

/** Null when nothing changed. The key goes to the coordinator alone, wherever else the config may lie. */
async function fetchConfig(
  options: ConfigWatchOptions,
  etag: string | null,
): Promise<{ text: string; etag: string | null } | null> {
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
  const text = await response.text();
  if (response.status === 304) return null;
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  if (text.length > MAX_CONFIG_CHARS) throw new Error("it is too large");
  return { text, etag: response.headers.get("etag") };
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/, "");
}
