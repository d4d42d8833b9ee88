// The runtimes that a worker can serve, by name. Hosted ones are the providers of `providers/catalog`. Base URLs end
// where `/chat/completions` (or the provider's own path) begins.

import { type Api, LOCAL_RUNTIMES, type LocalRuntimeName } from "../../contract/words/values.ts";
import { bundledProviders } from "../../providers/bundled-providers.ts";
import { FIELD_NAMES, type FieldNames, type KEY_HEADERS } from "../apis/provider-dialects.ts";

export type ApiKind = keyof typeof KEY_HEADERS;

export type HostedProvider = {
  baseUrl: string;
  api: ApiKind;
  /** The APIs besides chat/completions, for providers with OpenAI's API. */
  apis?: readonly Api[];
} & FieldNames;

/** What this process does otherwise than a provider's file says, which is also for the coordinator's own calls. */
const OWN: Readonly<Record<string, Partial<HostedProvider>>> = {
  // Its native API counts reasoning tokens; the compatible one does not.
  gemini: { baseUrl: "https://generativelanguage.googleapis.com/v1beta", api: "gemini", apis: [] },
  openai: {
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
  },
};

type CatalogApi = NonNullable<(typeof bundledProviders)[number]["api"]>;

const hosted = (name: string, { base_url, dialect, apis = [] }: CatalogApi): HostedProvider => ({
  baseUrl: base_url,
  api: dialect,
  apis: apis.filter((api) => api !== "chat/completions"),
  ...FIELD_NAMES[name],
  ...OWN[name],
});

/** Every provider whose file has `api`. */
export const HOSTED_PROVIDERS: Readonly<Record<string, HostedProvider>> = Object.fromEntries(
  bundledProviders.flatMap(({ provider, api }) => (api === undefined ? [] : [[provider, hosted(provider, api)]])),
);

export type LocalProvider = {
  /** The default address, unless SERVICE_RUNTIME_URL is set. All have OpenAI's API under `/v1`. */
  origin: string;
  /** Ollama's own list has models that its OpenAI list reports as `data: null`. */
  listPath: string;
  /** Serves the one model it was started with, whatever a request names, so the answer's model proves nothing. */
  ignoresModel: boolean;
};

export const OPENAI_LIST = "/v1/models";
const PLAIN = { listPath: OPENAI_LIST, ignoresModel: false };

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
