// The local model runtimes: names, aliases and default addresses. Cost, config, worker and discovery derive from this
// list; a test compares it with the catalog's `local: true` files.

interface LocalRuntime {
  readonly aliases: readonly string[];
  /** Null: it runs inside the worker. */
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
  /** Any other server with this API, at SERVICE_RUNTIME_URL. */
  "openai-compatible": { aliases: ["local"], address: "http://127.0.0.1:8000", isSought: false },
} as const satisfies Record<string, LocalRuntime>;

export type LocalRuntimeName = keyof typeof LOCAL_RUNTIMES;

const entries = Object.entries(LOCAL_RUNTIMES) as [LocalRuntimeName, LocalRuntime][];

const canonicalNames: ReadonlyMap<string, LocalRuntimeName> = new Map(
  entries.flatMap(([name, { aliases }]) => [name, ...aliases].map((one) => [one, name] as const)),
);

/** All names, including aliases. */
export const LOCAL_RUNTIME_NAMES: readonly string[] = [...canonicalNames.keys()];

/** The runtime of a name or alias; null if it is not in this list. */
export const localRuntimeOf = (name: string): LocalRuntimeName | null => canonicalNames.get(name) ?? null;

/** Whether a provider runs on the owner's machines: it costs nothing unless another source says otherwise. */
export const isLocalProvider = (provider: string): boolean => canonicalNames.has(provider);

export const SOUGHT_RUNTIMES: readonly LocalRuntimeName[] = entries
  .filter(([, { isSought }]) => isSought)
  .map(([name]) => name);
