// The local model runtimes: their names, the other names that people give them, where they listen by default. Cost,
// config, the worker and its discovery derive from this list; a test holds the catalog's `local: true` files to it.

interface LocalRuntime {
  readonly aliases: readonly string[];
  /** Null: nothing to reach, it answers by itself. */
  readonly address: string | null;
  /** A worker without `--runtime` looks for it on its machine, in the order of this list. */
  readonly isSought: boolean;
}

const AT_HOME = { aliases: [], isSought: false } as const;

export const LOCAL_RUNTIMES = {
  echo: { ...AT_HOME, address: null },
  ollama: { ...AT_HOME, address: "http://127.0.0.1:11434", isSought: true },
  lmstudio: { aliases: ["lm-studio"], address: "http://127.0.0.1:1234", isSought: true },
  llamacpp: { aliases: ["llama.cpp", "llama-cpp"], address: "http://127.0.0.1:8080", isSought: true },
  vllm: { ...AT_HOME, address: "http://127.0.0.1:8000", isSought: true },
  localai: { ...AT_HOME, address: "http://127.0.0.1:8080" },
  jan: { ...AT_HOME, address: "http://127.0.0.1:1337" },
  sglang: { ...AT_HOME, address: "http://127.0.0.1:30000" },
  tgi: { ...AT_HOME, address: "http://127.0.0.1:8080" },
  nim: { ...AT_HOME, address: "http://127.0.0.1:8000" },
  /** Any other server of this API, at SERVICE_RUNTIME_URL. */
  "openai-compatible": { aliases: ["local"], address: "http://127.0.0.1:8000", isSought: false },
} as const satisfies Record<string, LocalRuntime>;

export type LocalRuntimeName = keyof typeof LOCAL_RUNTIMES;

const entries = Object.entries(LOCAL_RUNTIMES) as [LocalRuntimeName, LocalRuntime][];

const canonicalNames: ReadonlyMap<string, LocalRuntimeName> = new Map(
  entries.flatMap(([name, { aliases }]) => [name, ...aliases].map((one) => [one, name] as const)),
);

/** All names, with the aliases. */
export const LOCAL_RUNTIME_NAMES: readonly string[] = [...canonicalNames.keys()];

/** The runtime that a name or an alias means; null if it means none of this list. */
export const localRuntimeOf = (name: string): LocalRuntimeName | null => canonicalNames.get(name) ?? null;

/** Whether a provider's models run on the owner's own machines: they cost nothing unless someone says otherwise. */
export const isLocalProvider = (provider: string): boolean => canonicalNames.has(provider);

export const SOUGHT_RUNTIMES: readonly LocalRuntimeName[] = entries
  .filter(([, { isSought }]) => isSought)
  .map(([name]) => name);
