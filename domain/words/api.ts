// The front door's APIs, which a worker may offer, named by their path below `/v1/`.

export const APIS = [
  "chat/completions",
  "completions",
  "embeddings",
  "responses",
  "messages",
  "messages/count_tokens",
] as const;
export type Api = (typeof APIS)[number];

export const STREAMED_APIS = ["chat/completions", "completions", "responses", "messages"] as const satisfies Api[];
export type StreamedApi = (typeof STREAMED_APIS)[number];

/** Clients do without it, and are told at once that nobody offers it. */
export const isOptional = (api: Api): boolean => api === "messages/count_tokens";
