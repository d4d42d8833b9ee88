// The worker's settings: flags first, then the environment, then defaults. All mistakes are reported at once, each with
// what to change; for an unknown flag it names the nearest known one.

import { parseArgs } from "node:util";
import * as z from "zod";
import { trimAddress } from "../contract/text/address.ts";
import { nearestOf } from "../contract/text/nearest.ts";
import { isSendableKey, UNSENDABLE_KEY } from "../contract/text/secret-text.ts";
import { instanceName, modelName, providerName, splitList, tags } from "../contract/words/field.ts";
import { entryOf, LOCAL_URL, localRuntimeOf, MAX_CONCURRENCY, TIERS, type Tier } from "../contract/words/values.ts";
import { defaultInstance } from "./default-instance.ts";
import { EXEC_FLAGS, EXEC_SWITCHES, type ExecSettings, execFields, execSettings } from "./exec/exec-settings.ts";
import type { OpeningSettings } from "./openings/open-doors.ts";
import { OPENING_FLAGS, openingFields, openingSettings } from "./openings/opening-flags.ts";
import { RUNTIME_NAMES } from "./runtimes/providers.ts";

export type Settings = {
  apiUrl: string;
  apiKey: string;
  configUrl: string;
  runtimeUrl: string | null;
  instance: string;
  /** Null: named after the runtime. */
  provider: string | null;
  tags: string;
  models: readonly string[];
  tier: Tier | null;
  concurrency: number;
  /** Null: the first one found on this machine, else echo. */
  runtime: string | null;
  /** The command that is the worker; null: a model runtime. */
  exec: ExecSettings | null;
  /** When it takes jobs; undefined: always. */
  opening: OpeningSettings | undefined;
  /** Takes tasks for the models of this machine. */
  manageModels: boolean;
  /** Pulls no larger model; null: any. */
  maxModelGb: number | null;
  /** The only job, for a run without a coordinator. */
  once: string | null;
};

type SettingsResult = { ok: true; settings: Settings } | { ok: false; problems: string[] } | { ok: "help" };

const HOSTED_ALIASES: Readonly<Record<string, string>> = { google: "gemini" };

const FLAGS = {
  instance:
    "name of this worker, the same after a restart (default: the machine, with --exec the machine and the provider)",
  provider: "provider that jobs ask for (default: the runtime's name)",
  tags: "comma-separated tags that this worker offers",
  models:
    "comma-separated models that it offers (default: those that its runtime lists); jobs without a model use the first",
  tier: "economy, standard or premium",
  concurrency: "jobs at the same time, 1 to 1000 (default 1)",
  runtime: `model runtime (default: a local one that is found, else echo): ${RUNTIME_NAMES.join(", ")}`,
  "manage-models": "lets operators pull, load, unload and delete models on this machine",
  "max-model-gb": "with --manage-models: pulls no model that is larger",
  ...OPENING_FLAGS,
  ...EXEC_FLAGS,
  help: "prints this text",
} as const;

/** An empty one is a variable of a script that is not set; without them the worker would be another. */
const NEVER_EMPTY: readonly string[] = ["exec", "once"];

const SWITCHES: readonly string[] = ["help", "manage-models", ...EXEC_SWITCHES];

/** `command`: what the reader typed to come here. */
export const usageOf = (command: string): string => `${command} [--flag value …]

${Object.entries(FLAGS)
  .map(([flag, says]) => `  --${flag.padEnd(12)} ${says}`)
  .join("\n")}

Environment: SERVICE_API_KEY (required), SERVICE_API_URL (${LOCAL_URL}), SERVICE_CONFIG_URL (<api>/config),
SERVICE_RUNTIME_URL (the runtime's address; for a hosted one, a replacement for its own), PROVIDER_<NAME>_KEY (a hosted provider's key),
SERVICE_LOG (text, json or off), SERVICE_LOG_LEVEL.`;

const httpUrl = z
  .url({ protocol: /^https?$/, error: "must be an address that starts with http:// or https://" })
  .transform((url) => url.replace(/\/+$/, ""));

const commaList = z.string().transform(splitList);

const settingsSchema = z.object({
  SERVICE_API_URL: z.string().transform(trimAddress).pipe(httpUrl).default(LOCAL_URL),
  SERVICE_API_KEY: z
    .string({ error: "is not set: an admin makes a worker's key with `signalbox keys create <name>`" })
    .refine(isSendableKey, UNSENDABLE_KEY),
  SERVICE_CONFIG_URL: httpUrl.optional(),
  SERVICE_RUNTIME_URL: httpUrl.optional(),
  "--instance": instanceName.optional(),
  "--provider": providerName.optional(),
  "--tags": commaList.pipe(tags).default([]),
  "--models": commaList.pipe(z.array(modelName).max(500)).default([]),
  "--tier": z.enum(TIERS, { error: "must be economy, standard or premium" }).optional(),
  "--concurrency": z.coerce
    .number({ error: "must be a whole number" })
    .int("must be a whole number")
    .min(1, "must be at least 1")
    .max(MAX_CONCURRENCY, `must be at most ${MAX_CONCURRENCY}`)
    .default(1),
  "--runtime": z
    .string()
    .transform((name) => localRuntimeOf(name) ?? entryOf(HOSTED_ALIASES, name) ?? name)
    .superRefine((name, context) => {
      if (RUNTIME_NAMES.includes(name)) return;
      context.addIssue(
        `there is no runtime "${name}"${didYouMean(name, RUNTIME_NAMES)}; known: ${RUNTIME_NAMES.join(", ")}`,
      );
    })
    .optional(),
  "--max-model-gb": z.coerce.number({ error: "must be a number of GB" }).positive("must be more than 0").optional(),
  ...openingFields,
  ...execFields,
});

export const readSettings = (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): SettingsResult => {
  const flags = readFlags(args);
  if (flags.values.has("help")) return { ok: "help" };
  const given: Record<string, string> = {};
  for (const name of Object.keys(settingsSchema.shape)) {
    const value = name.startsWith("--") ? flags.values.get(name.slice(2)) : env[name];
    // An empty variable counts as not set.
    if (value !== undefined && value.trim() !== "") given[name] = value.trim();
  }
  // Without a coordinator there is nobody to show a key to.
  if (flags.values.has("once")) given.SERVICE_API_KEY = "none";
  const parsed = settingsSchema.safeParse(given);
  const isGiven = (flag: string) => flags.values.has(flag);
  const ofExec = parsed.success ? execSettings(parsed.data, isGiven, process.cwd()) : { exec: null, problems: [] };
  const problems = [
    ...flags.problems,
    ...(parsed.error?.issues ?? []).map(({ path, message }) => `${String(path[0])}: ${message}`),
    ...ofExec.problems,
  ];
  if (!parsed.success || problems.length > 0) return { ok: false, problems };
  const { data } = parsed;
  return {
    ok: true,
    settings: {
      apiUrl: data.SERVICE_API_URL,
      apiKey: data.SERVICE_API_KEY,
      configUrl: data.SERVICE_CONFIG_URL ?? `${data.SERVICE_API_URL}/config`,
      runtimeUrl: data.SERVICE_RUNTIME_URL ?? null,
      instance:
        data["--instance"] ?? defaultInstance(ofExec.exec === null ? undefined : (data["--provider"] ?? "exec")),
      provider: data["--provider"] ?? null,
      tags: data["--tags"].join(","),
      models: data["--models"],
      tier: data["--tier"] ?? null,
      concurrency: data["--concurrency"],
      runtime: data["--runtime"] ?? null,
      exec: ofExec.exec,
      opening: openingSettings(data),
      manageModels: isGiven("manage-models"),
      maxModelGb: data["--max-model-gb"] ?? null,
      once: data["--once"] ?? null,
    },
  };
};

const readFlags = (args: readonly string[]): { values: Map<string, string>; problems: string[] } => {
  const options = Object.fromEntries(
    Object.keys(FLAGS).map((flag) => [
      flag,
      { type: SWITCHES.includes(flag) ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true, allowPositionals: true });
  const values = new Map<string, string>();
  const problems: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") problems.push(`unexpected argument "${token.value}"`);
    if (token.kind !== "option") continue;
    const { name, value } = token;
    if (!Object.hasOwn(FLAGS, name))
      problems.push(`there is no flag --${name}${didYouMean(name, Object.keys(FLAGS), "--")}`);
    else if (SWITCHES.includes(name)) values.set(name, "");
    else if (value === undefined || value.startsWith("--") || (value.trim() === "" && NEVER_EMPTY.includes(name)))
      problems.push(`--${name} needs a value`);
    else if (values.has(name)) problems.push(`--${name} is given twice`);
    else values.set(name, value);
  }
  return { values, problems };
};

const didYouMean = (name: string, known: readonly string[], prefix = ""): string => {
  const nearest = nearestOf(name, known);
  return nearest === null ? "" : `; did you mean ${prefix}${nearest}?`;
};
