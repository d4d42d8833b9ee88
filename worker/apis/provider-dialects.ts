// How providers are called, for the worker process and the coordinator's own calls: the header of the key, by dialect,
// and the field names in which a provider or a local runtime differs. Addresses and APIs are in `providers/catalog`.

export const ANTHROPIC_VERSION = "2023-06-01";

/** The headers of a call with the key, by dialect. */
export const KEY_HEADERS = {
  openai: (key: string) => ({ authorization: `Bearer ${key}` }),
  anthropic: (key: string) => ({ "x-api-key": key, "anthropic-version": ANTHROPIC_VERSION }),
  gemini: (key: string) => ({ "x-goog-api-key": key }),
} as const satisfies Record<string, (key: string) => Readonly<Record<string, string>>>;

export type FieldNames = {
  /** Fields of an ordinary job's `input` that the provider calls by another name. */
  renames?: Readonly<Record<string, string>>;
  /** Fields of `input` that the provider does not have. */
  lacks?: readonly string[];
};

/** By provider. */
export const FIELD_NAMES: Readonly<Record<string, FieldNames>> = {
  // Its newer models refuse `max_tokens`; older ones take both names. The others are sampler settings of open models.
  openai: { renames: { max_tokens: "max_completion_tokens" }, lacks: ["top_k", "min_p", "repetition_penalty"] },
  mistral: { renames: { seed: "random_seed" }, lacks: ["stream_options"] },
  // It ignores a name that it does not know.
  llamacpp: { renames: { repetition_penalty: "repeat_penalty" } },
};
