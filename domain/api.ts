// The APIs of AI clients that the front door speaks and a worker may offer, by their path below `/v1/`.

export const APIS = ["chat/completions", "completions", "embeddings", "responses", "messages"] as const;
export type Api = (typeof APIS)[number];
