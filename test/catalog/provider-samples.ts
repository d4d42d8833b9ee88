// Small samples of each provider's answer: the formats and oddities of their model lists, and the expected results.

import type { ListedModel } from "../../domain/catalog/catalog.ts";

export interface ProviderSample {
  readonly body: unknown;
  readonly models: readonly ListedModel[];
}

const plain = (id: string): ProviderSample => ({
  body: { object: "list", data: [{ id, object: "model", created: 1, owned_by: "someone" }] },
  models: [{ id, name: id }],
});

const priced = (input: number, output: number) => ({
  price: { input_nano_per_mtok: input, output_nano_per_mtok: output },
});

const vllmCard = (id: string): ProviderSample => ({
  body: {
    object: "list",
    data: [
      { id, object: "model", created: 1763700000, max_model_len: 32768, permission: [{ id: "modelperm-1" }] },
      { id: "a-lora", object: "model", created: 1763700000, max_model_len: null, parent: id },
    ],
  },
  models: [
    { id, name: id, context_window: 32768 },
    { id: "a-lora", name: "a-lora" },
  ],
});

export const PROVIDER_SAMPLES: Readonly<Record<string, ProviderSample>> = {
  openai: plain("gpt-6"),
  anthropic: {
    body: {
      data: [
        { type: "model", id: "claude-x", display_name: "Claude X", max_input_tokens: 200000 },
        { type: "model", id: "claude-y", display_name: "Claude Y", max_input_tokens: 0 },
      ],
      has_more: false,
      first_id: "claude-x",
      last_id: "claude-y",
    },
    models: [
      { id: "claude-x", name: "Claude X", context_window: 200000 },
      { id: "claude-y", name: "Claude Y" },
    ],
  },
  gemini: {
    body: {
      models: [
        { name: "models/gemini-3-pro", displayName: "Gemini 3 Pro", inputTokenLimit: 1048576 },
        { name: "models/gemma-4", inputTokenLimit: 8192 },
      ],
    },
    models: [
      { id: "gemini-3-pro", name: "Gemini 3 Pro", context_window: 1048576 },
      { id: "gemma-4", name: "gemma-4", context_window: 8192 },
    ],
  },
  mistral: {
    body: {
      object: "list",
      data: [
        { id: "mistral-large-2", name: "mistral-large-2", max_context_length: 131072 },
        { id: "mistral-large-latest", name: "mistral-large-2", max_context_length: 131072 },
        { id: "mistral-embed", name: null, max_context_length: 32768 },
      ],
    },
    models: [
      { id: "mistral-large-2", name: "mistral-large-2", context_window: 131072 },
      { id: "mistral-large-latest", name: "mistral-large-2", context_window: 131072 },
      { id: "mistral-embed", name: "mistral-embed", context_window: 32768 },
    ],
  },
  groq: {
    body: { object: "list", data: [{ id: "llama-4", active: true, context_window: 131072 }] },
    models: [{ id: "llama-4", name: "llama-4", context_window: 131072 }],
  },
  together: {
    body: [
      { id: "meta/llama-4", display_name: "Llama 4", context_length: 131072, pricing: { input: 0.27, output: 0.85 } },
      { id: "bare/model" },
    ],
    models: [
      { id: "meta/llama-4", name: "Llama 4", context_window: 131072, ...priced(270_000_000, 850_000_000) },
      { id: "bare/model", name: "bare/model" },
    ],
  },
  openrouter: {
    body: {
      data: [
        {
          id: "anthropic/claude-x",
          name: "Anthropic: Claude X",
          context_length: 200000,
          pricing: { prompt: "0.000003", completion: "0.000015", request: "0", input_cache_read: "0.0000003" },
        },
        {
          id: "openrouter/auto",
          name: "Auto Router",
          context_length: null,
          pricing: { prompt: "-1", completion: "-1" },
        },
      ],
    },
    models: [
      {
        id: "anthropic/claude-x",
        name: "Anthropic: Claude X",
        context_window: 200000,
        price: {
          input_nano_per_mtok: 3_000_000_000,
          output_nano_per_mtok: 15_000_000_000,
          cached_input_nano_per_mtok: 300_000_000,
          request_nano: 0,
        },
      },
      { id: "openrouter/auto", name: "Auto Router" },
    ],
  },
  deepseek: {
    body: { object: "list", data: [{ id: "deepseek-chat", object: "model" }] },
    models: [{ id: "deepseek-chat", name: "deepseek-chat" }],
  },
  xai: {
    body: {
      models: [
        {
          id: "grok-5",
          aliases: ["grok-latest"],
          max_prompt_length: 256000,
          prompt_text_token_price: 30000,
          completion_text_token_price: 150000,
          cached_prompt_text_token_price: 7500,
        },
      ],
    },
    models: [
      {
        id: "grok-5",
        name: "grok-5",
        context_window: 256000,
        price: {
          input_nano_per_mtok: 3_000_000_000,
          output_nano_per_mtok: 15_000_000_000,
          cached_input_nano_per_mtok: 750_000_000,
        },
      },
    ],
  },
  cohere: {
    body: { models: [{ name: "command-a", endpoints: ["chat"], context_length: 256000.0 }], next_page_token: "" },
    models: [{ id: "command-a", name: "command-a", context_window: 256000 }],
  },
  fireworks: {
    body: { object: "list", data: [{ id: "accounts/fireworks/models/qwen3", context_length: 40960 }] },
    models: [{ id: "accounts/fireworks/models/qwen3", name: "accounts/fireworks/models/qwen3", context_window: 40960 }],
  },
  cerebras: {
    body: {
      data: [
        {
          id: "cerebras/gpt-oss-120b",
          name: "GPT OSS 120B",
          context_length: 131072,
          pricing: { prompt: "0.00000035", completion: "0.00000075" },
        },
      ],
    },
    models: [{ id: "gpt-oss-120b", name: "GPT OSS 120B", context_window: 131072, ...priced(350_000_000, 750_000_000) }],
  },
  perplexity: {
    body: { object: "list", data: [{ id: "openai/gpt-6", created: 0 }] },
    models: [{ id: "openai/gpt-6", name: "openai/gpt-6" }],
  },
  nvidia: plain("nvidia/nemotron-4"),
  nim: vllmCard("meta/llama-4"),
  huggingface: {
    body: {
      object: "list",
      data: [
        {
          id: "org/model",
          providers: [{ provider: "one", context_length: 65536, pricing: { input: 0.1, output: 0.4 } }],
        },
        { id: "org/unserved", providers: [] },
      ],
    },
    models: [
      { id: "org/model", name: "org/model", context_window: 65536, ...priced(100_000_000, 400_000_000) },
      { id: "org/unserved", name: "org/unserved" },
    ],
  },
  github: {
    body: [{ id: "openai/gpt-6", name: "OpenAI GPT-6", limits: { max_input_tokens: 131072, max_output_tokens: 8192 } }],
    models: [{ id: "openai/gpt-6", name: "OpenAI GPT-6", context_window: 131072 }],
  },
  azure: {
    body: { data: [{ id: "gpt-6-2026-05-01", status: "succeeded" }], object: "list" },
    models: [{ id: "gpt-6-2026-05-01", name: "gpt-6-2026-05-01" }],
  },
  sambanova: {
    body: {
      object: "list",
      data: [{ id: "Llama-4", context_length: 131072, pricing: { prompt: "0.0000006", completion: "0.0000012" } }],
    },
    models: [{ id: "Llama-4", name: "Llama-4", context_window: 131072, ...priced(600_000_000, 1_200_000_000) }],
  },
  moonshot: {
    body: { object: "list", data: [{ id: "kimi-k3", context_length: 262144 }] },
    models: [{ id: "kimi-k3", name: "kimi-k3", context_window: 262144 }],
  },
  ollama: {
    body: {
      models: [
        { name: "qwen3:8b", model: "qwen3:8b", details: { family: "qwen3", context_length: 40960 } },
        { name: "old:latest", model: "old:latest", details: { family: "old" } },
      ],
    },
    models: [
      { id: "qwen3:8b", name: "qwen3:8b", context_window: 40960 },
      { id: "old:latest", name: "old:latest" },
    ],
  },
  lmstudio: {
    body: { models: [{ type: "llm", key: "qwen/qwen3-8b", display_name: "Qwen3 8B", max_context_length: 40960 }] },
    models: [{ id: "qwen/qwen3-8b", name: "Qwen3 8B", context_window: 40960 }],
  },
  vllm: vllmCard("Qwen/Qwen3-8B"),
  llamacpp: {
    body: {
      models: [{ name: "m.gguf", model: "m.gguf", modified_at: "", size: "" }],
      object: "list",
      data: [
        { id: "m.gguf", created: 1763700000, meta: { n_ctx_train: 40960, n_ctx: 4096 } },
        { id: "asleep.gguf", meta: null, status: { value: "unloaded" } },
      ],
    },
    models: [
      { id: "m.gguf", name: "m.gguf", context_window: 40960 },
      { id: "asleep.gguf", name: "asleep.gguf" },
    ],
  },
  localai: { body: { object: "list", data: [{ id: "phi", object: "model" }] }, models: [{ id: "phi", name: "phi" }] },
  jan: plain("jan-nano"),
  sglang: {
    body: { object: "list", data: [{ id: "m", created: 1763700000, max_model_len: 32768 }] },
    models: [{ id: "m", name: "m", context_window: 32768 }],
  },
  tgi: plain("bigscience/bloom"),
};
