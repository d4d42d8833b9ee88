// From a runtime's name to the runtime: which API it speaks, where, and with which key.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModel } from "ai";
import type { ProviderKeys } from "../provider-keys.ts";
import { createChatRuntime } from "./chat-runtime.ts";
import { createEchoRuntime } from "./echo.ts";
import { fetchModelList, rememberedList } from "./model-list.ts";
import { HOSTED_PROVIDERS, type HostedProvider, LOCAL_PROVIDERS, type LocalProvider } from "./providers.ts";
import type { Runtime } from "./runtime.ts";
import { runtimeFetch } from "./runtime-fetch.ts";

export type OpenRuntimeOptions = {
  keys: ProviderKeys;
  /** References to try for the key, first match wins: the worker's provider, then the runtime's name. */
  keyRefs: readonly string[];
  /** Where a local runtime listens; hosted providers have their own address, so that no key goes anywhere else. */
  runtimeUrl: string | null;
};

/** @throws Error on a name that is not in RUNTIME_NAMES: the settings have checked it. */
export function openRuntime(name: string, options: OpenRuntimeOptions): Runtime {
  if (name === "echo") return createEchoRuntime();
  const local = LOCAL_PROVIDERS[name];
  if (local !== undefined) return openLocal(name, local, options);
  const hosted = HOSTED_PROVIDERS[name];
  if (hosted !== undefined) return openHosted(name, hosted, options);
  throw new Error(`there is no runtime "${name}"`);
}

export function openHosted(name: string, provider: HostedProvider, options: OpenRuntimeOptions): Runtime {
  return createChatRuntime({
    name,
    models: null,
    checksAnswer: false,
    nowMs: Date.now,
    open: async (model) => {
      const secret = await resolveKey(options);
      return { model: openModel(name, provider, secret, model), secret };
    },
  });
}

function openLocal(name: string, provider: LocalProvider, options: OpenRuntimeOptions): Runtime {
  const origin = runtimeOrigin(options.runtimeUrl ?? provider.origin);
  const served = { baseUrl: `${origin}/v1`, api: "openai" } as const;
  const list = async () => fetchModelList(origin + provider.listPath, await resolveKey(options), runtimeFetch);
  return createChatRuntime({
    name,
    models: rememberedList(list, Date.now),
    checksAnswer: !provider.ignoresModel,
    nowMs: Date.now,
    open: async (model) => {
      const secret = await resolveKey(options);
      return { model: openModel(name, served, secret, model), secret };
    },
  });
}

function openModel(name: string, provider: HostedProvider, key: string | null, model: string): LanguageModel {
  const { api, baseUrl: baseURL, renames } = provider;
  // An empty key rather than none: the SDKs would else look for one in variables of their own.
  if (api === "anthropic") return createAnthropic({ baseURL, apiKey: key ?? "", fetch: runtimeFetch })(model);
  if (api === "gemini") return createGoogle({ baseURL, apiKey: key ?? "", fetch: runtimeFetch })(model);
  const settings = { name, baseURL, includeUsage: true, fetch: runtimeFetch, ...(key === null ? {} : { apiKey: key }) };
  if (renames === undefined) return createOpenAICompatible(settings)(model);
  const transformRequestBody = (body: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(body).map(([field, value]) => [renames[field] ?? field, value]));
  return createOpenAICompatible({ ...settings, transformRequestBody })(model);
}

async function resolveKey({ keys, keyRefs }: OpenRuntimeOptions): Promise<string | null> {
  for (const ref of keyRefs) {
    const key = await keys.resolve(ref);
    if (key !== null) return key;
  }
  return null;
}

/** The address without a trailing slash or `/v1`, which people copy from their runtime's own page. */
export function runtimeOrigin(url: string): string {
  return url.replace(/\/+$/, "").replace(/\/v1$/, "");
}
