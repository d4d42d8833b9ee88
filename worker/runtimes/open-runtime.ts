// Opens a runtime by its name: its API, address and key.

import { APIS, type Api } from "../../contract/words/values.ts";
import { FIELD_NAMES, KEY_HEADERS } from "../apis/provider-dialects.ts";
import type { Backend } from "../calls/backend.ts";
import { createChatRuntime } from "../calls/chat-runtime.ts";
import type { Way } from "../calls/exchange.ts";
import { createOpenAiBackend } from "../calls/openai-backend.ts";
import type { Runtime } from "../calls/runtime.ts";
import { createAnthropicBackend } from "./anthropic-backend.ts";
import { ApiPlaces } from "./api-places.ts";
import { createEchoRuntime } from "./echo.ts";
import { createGeminiBackend } from "./gemini-backend.ts";
import { unworkedWhileLoading } from "./loading.ts";
import { fetchModelList, rememberedList } from "./model-list.ts";
import { probeRuntime } from "./probe.ts";
import type { ProviderKeys } from "./provider-keys.ts";
import {
  type ApiKind,
  HOSTED_PROVIDERS,
  type HostedProvider,
  LOCAL_PROVIDERS,
  type LocalProvider,
  OPENAI_LIST,
} from "./providers.ts";
import { hostedWay, localWay, runtimeFetch } from "./runtime-fetch.ts";

type OpenRuntimeOptions = {
  keys: ProviderKeys;
  /** References for the key, first match wins: the worker's provider, then the runtime's name. */
  keyRefs: readonly string[];
  /** SERVICE_RUNTIME_URL: the address of a local runtime, or a replacement for a hosted provider's address. */
  runtimeUrl: string | null;
};

const HOSTED_PROBE_EVERY_MS = 300_000;

/** @throws Error for a name that is not in RUNTIME_NAMES, which the settings have checked. */
export const openRuntime = (name: string, options: OpenRuntimeOptions): Runtime => {
  if (name === "echo") return createEchoRuntime();
  const local = LOCAL_PROVIDERS[name];
  if (local !== undefined) return openLocal(name, local, options);
  const hosted = HOSTED_PROVIDERS[name];
  if (hosted !== undefined) return openHosted(name, hosted, options);
  throw new Error(`there is no runtime "${name}"`);
};

export const openHosted = (name: string, provider: HostedProvider, options: OpenRuntimeOptions): Runtime => {
  const baseUrl = hostedBaseUrl(provider.baseUrl, options.runtimeUrl);
  const key = () => resolveKey(options);
  const list = async () => fetchModelList(`${baseUrl}/models`, await key(), runtimeFetch, KEY_HEADERS[provider.api]);
  const has = APIS_OF[provider.api](provider);
  return createChatRuntime({
    name,
    address: baseUrl,
    backend: BACKENDS[provider.api]({ ...provider, way: hostedWay, name, baseUrl, key }),
    models: null,
    checksAnswer: false,
    classify: hostedWay.classify,
    probeEveryMs: HOSTED_PROBE_EVERY_MS,
    probe: (before) => probeRuntime({ address: baseUrl, models: list, key, asks: [], has }, before),
  });
};

const openLocal = (name: string, provider: LocalProvider, options: OpenRuntimeOptions): Runtime => {
  const origin = runtimeOrigin(options.runtimeUrl ?? provider.origin);
  const baseUrl = `${origin}/v1`;
  const key = () => resolveKey(options);
  const list = async () => {
    const secret = await key();
    const own = await fetchModelList(origin + provider.listPath, secret, runtimeFetch);
    if (own !== null || provider.listPath === OPENAI_LIST) return own;
    // A runtime of another kind has taken the port.
    return fetchModelList(origin + OPENAI_LIST, secret, runtimeFetch);
  };
  const places = new ApiPlaces(origin);
  const models = rememberedList(list, () => performance.now());
  const urlOf = (api: Api) => places.urlOf(api);
  const runtime = createChatRuntime({
    name,
    address: origin,
    backend: createOpenAiBackend({ way: localWay, name, baseUrl, key, urlOf, ...FIELD_NAMES[name] }),
    models,
    checksAnswer: !provider.ignoresModel,
    classify: localWay.classify,
    probeEveryMs: 0,
    probe: (before) => probeRuntime({ address: baseUrl, places, models: list, key, asks: APIS, has: [] }, before),
  });
  return { ...runtime, run: async (task, run) => unworkedWhileLoading(await runtime.run(task, run)) };
};

type BackendOptions = HostedProvider & { way: Way; name: string; key: () => Promise<string | null> };

const BACKENDS: Record<ApiKind, (options: BackendOptions) => Backend> = {
  openai: createOpenAiBackend,
  anthropic: createAnthropicBackend,
  gemini: createGeminiBackend,
};

const APIS_OF: Record<ApiKind, (provider: HostedProvider) => readonly Api[]> = {
  openai: ({ apis = [] }) => ["chat/completions", ...apis],
  anthropic: () => ["chat/completions", "messages", "messages/count_tokens"],
  gemini: () => ["chat/completions", "embeddings"],
};

const resolveKey = async ({ keys, keyRefs }: OpenRuntimeOptions): Promise<string | null> => {
  for (const ref of keyRefs) {
    const key = await keys.resolve(ref);
    if (key !== null) return key;
  }
  return null;
};

/**
 * An address without a path gets the provider's own path: people give the host of their gateway, or the whole base URL.
 */
const hostedBaseUrl = (own: string, given: string | null): string => {
  if (given === null) return own;
  const { pathname } = new URL(given);
  return pathname === "/" ? given.replace(/\/+$/, "") + new URL(own).pathname : given.replace(/\/+$/, "");
};

/** The address without a trailing slash or `/v1`, which people copy from their runtime's documentation. */
export const runtimeOrigin = (url: string): string => url.replace(/\/+$/, "").replace(/\/v1$/, "");
