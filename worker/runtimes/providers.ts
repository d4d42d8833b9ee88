// The runtimes that a worker can serve, by name; the catalog's providers have the same names. Base URLs end where
// `/chat/completions` (or the provider's own path) begins.

import { type Api, LOCAL_RUNTIMES, type LocalRuntimeName } from "../../contract/values.ts";

export type ApiKind = "openai" | "anthropic" | "gemini";

export type HostedProvider = {
  baseUrl: string;
  api: ApiKind;
  /** The APIs besides chat/completions, for providers with OpenAI's API. */
  apis?: readonly Api[];
  /** Fields of an ordinary job's `input` that the provider calls by another name. */
  renames?: Readonly<Record<string, string>>;
  /** Fields of `input` that the provider does not have. */
  lacks?: readonly string[];
};

const OPENAI: ApiKind = "openai";
/** Sampler settings of open models. */
const OPENAI_LACKS = ["top_k", "min_p", "repetition_penalty"];

export const HOSTED_PROVIDERS: Readonly<Record<string, HostedProvider>> = {
  anthropic: { baseUrl: "https://api.anthropic.com/v1", api: "anthropic" },
  cerebras: { baseUrl: "https://api.cerebras.ai/v1", api: OPENAI },
  cohere: { baseUrl: "https://api.cohere.ai/compatibility/v1", api: OPENAI, apis: ["embeddings"] },
  deepseek: { baseUrl: "https://api.deepseek.com", api: OPENAI },
  fireworks: { baseUrl: "https://api.fireworks.ai/inference/v1", api: OPENAI, apis: ["completions", "embeddings"] },
  gemini: { baseUrl: "https://generativelanguage.googleapis.com/v1beta", api: "gemini" },
  github: { baseUrl: "https://models.github.ai/inference", api: OPENAI },
  groq: { baseUrl: "https://api.groq.com/openai/v1", api: OPENAI, apis: ["responses"] },
  huggingface: { baseUrl: "https://router.huggingface.co/v1", api: OPENAI },
  mistral: { baseUrl: "https://api.mistral.ai/v1", api: OPENAI, apis: ["embeddings"] },
  moonshot: { baseUrl: "https://api.moonshot.ai/v1", api: OPENAI },
  nvidia: { baseUrl: "https://integrate.api.nvidia.com/v1", api: OPENAI, apis: ["completions", "embeddings"] },
  // OpenAI's newer models refuse `max_tokens`; older ones take both names.
  openai: {
    baseUrl: "https://api.openai.com/v1",
    api: OPENAI,
    apis: [
      "completions",
      "embeddings",
      "responses",
      "images/generations",
      "images/edits",
      "audio/transcriptions",
      "audio/translations",
      "audio/speech",
    ],
    lacks: OPENAI_LACKS,
    renames: { max_tokens: "max_completion_tokens" },
  },
  openrouter: { baseUrl: "https://openrouter.ai/api/v1", api: OPENAI, apis: ["completions"] },
  perplexity: { baseUrl: "https://api.perplexity.ai", api: OPENAI },
  sambanova: { baseUrl: "https://api.sambanova.ai/v1", api: OPENAI, apis: ["embeddings"] },
  together: { baseUrl: "https://api.together.ai/v1", api: OPENAI, apis: ["completions", "embeddings"] },
  xai: { baseUrl: "https://api.x.ai/v1", api: OPENAI, apis: ["completions", "responses"] },
};

export type LocalProvider = {
  /** The default address, unless SERVICE_RUNTIME_URL is set. All have OpenAI's API under `/v1`. */
  origin: string;
  /** Ollama's own list has models that its OpenAI list reports as `data: null`. */
  listPath: string;
  /** Serves the one model it was started with, whatever a request names, so the answer's model proves nothing. */
  ignoresModel: boolean;
};

const PLAIN = { listPath: "/v1/models", ignoresModel: false };

type Served = Exclude<LocalRuntimeName, "echo">;

/** A runtime of the contract's list without a row here does not compile. */
const SERVED = {
  ollama: { ...PLAIN, listPath: "/api/tags" },
  lmstudio: PLAIN,
  llamacpp: { ...PLAIN, ignoresModel: true },
  vllm: PLAIN,
  localai: PLAIN,
  jan: PLAIN,
  sglang: PLAIN,
  tgi: { ...PLAIN, ignoresModel: true },
  nim: PLAIN,
  "openai-compatible": PLAIN,
} as const satisfies Record<Served, Omit<LocalProvider, "origin">>;

export const LOCAL_PROVIDERS: Readonly<Record<string, LocalProvider>> = Object.fromEntries(
  (Object.keys(SERVED) as Served[]).map((name) => [name, { ...SERVED[name], origin: LOCAL_RUNTIMES[name].address }]),
);

export const RUNTIME_NAMES = ["echo", ...Object.keys(LOCAL_PROVIDERS), ...Object.keys(HOSTED_PROVIDERS)];
