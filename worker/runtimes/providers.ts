// The runtimes that a worker can serve, by name: the same names as the catalog's providers. Base URLs end where
// `/chat/completions` (or the provider's own path) begins.

import type { Api } from "../../contract/values.ts";

export type ApiKind = "openai" | "anthropic" | "gemini";

export type HostedProvider = {
  baseUrl: string;
  api: ApiKind;
  /** Beside chat/completions, of those that speak OpenAI's API. */
  apis?: readonly Api[];
  /** Fields of an ordinary job's `input` that it knows by another name. */
  renames?: Readonly<Record<string, string>>;
  /** Fields of `input` that it does not have. */
  lacks?: readonly string[];
};

const OPENAI: ApiKind = "openai";
/** Settings of open models' samplers. */
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
  // OpenAI's newer models refuse `max_tokens`; the older ones take both names.
  openai: {
    baseUrl: "https://api.openai.com/v1",
    api: OPENAI,
    apis: ["completions", "embeddings", "responses"],
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
  /** Where it listens unless SERVICE_RUNTIME_URL says otherwise. All speak OpenAI's API under `/v1`. */
  origin: string;
  /** Ollama's own list knows models that its OpenAI surface answers with `data: null`. */
  listPath: string;
  /** Serves the one model it was started with, whatever a request names, so that its answer proves nothing. */
  ignoresModel: boolean;
};

const PLAIN = { listPath: "/v1/models", ignoresModel: false };

export const LOCAL_PROVIDERS: Readonly<Record<string, LocalProvider>> = {
  ollama: { ...PLAIN, origin: "http://127.0.0.1:11434", listPath: "/api/tags" },
  lmstudio: { ...PLAIN, origin: "http://127.0.0.1:1234" },
  llamacpp: { ...PLAIN, origin: "http://127.0.0.1:8080", ignoresModel: true },
  vllm: { ...PLAIN, origin: "http://127.0.0.1:8000" },
  localai: { ...PLAIN, origin: "http://127.0.0.1:8080" },
  jan: { ...PLAIN, origin: "http://127.0.0.1:1337" },
  sglang: { ...PLAIN, origin: "http://127.0.0.1:30000" },
  tgi: { ...PLAIN, origin: "http://127.0.0.1:8080", ignoresModel: true },
  nim: { ...PLAIN, origin: "http://127.0.0.1:8000" },
  // Any other server of this API, at SERVICE_RUNTIME_URL.
  "openai-compatible": { ...PLAIN, origin: "http://127.0.0.1:8000" },
};

export const RUNTIME_NAMES = ["echo", ...Object.keys(LOCAL_PROVIDERS), ...Object.keys(HOSTED_PROVIDERS)];
