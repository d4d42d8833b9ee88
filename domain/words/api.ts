// The front door's APIs, which a worker may offer, named by their path below `/v1/`.

export const APIS = ["chat/completions", "completions", "embeddings", "responses", "messages"] as const;
export type Api = (typeof APIS)[number];
