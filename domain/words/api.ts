// The front door's APIs, which a worker may offer, named by their path below `/v1/`.

export const APIS = [
  "chat/completions",
  "completions",
  "embeddings",
  "responses",
  "messages",
  "messages/count_tokens",
  "rerank",
  "images/generations",
  "images/edits",
  "audio/transcriptions",
  "audio/translations",
  "audio/speech",
] as const;
export type Api = (typeof APIS)[number];

/** Their requests are forms with files (multipart/form-data). */
export const FORM_APIS = [
  "images/edits",
  "audio/transcriptions",
  "audio/translations",
] as const satisfies readonly Api[];
export type FormApi = (typeof FORM_APIS)[number];

export const isFormApi = (api: Api): api is FormApi => FORM_APIS.some((one) => one === api);

/** Their answers may be something else than JSON: sound, or plain text. */
export const BYTE_APIS: ReadonlySet<Api> = new Set<Api>(["audio/transcriptions", "audio/translations", "audio/speech"]);

/** Their streams tell the usage only where `stream_options` ask for it. */
export const WITH_USAGE_OPTION: ReadonlySet<Api> = new Set<Api>(["chat/completions", "completions"]);

/** Its answer is sound, which passes as it comes. */
export const isSpeech = (api: Api | null): boolean => api === "audio/speech";

/** Clients do without it, and are told at once that nobody offers it. */
export const isOptional = (api: Api): boolean => api === "messages/count_tokens";
