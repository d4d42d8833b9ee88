// A hosted provider as a runtime: its API is called where its entry in the catalog says, always as a stream, with the
// key that only the vault connector sees. What a client wants whole is put together here.

import type { JsonObject } from "../../contract/text/json-object.ts";
import type { ProviderApi, ProviderDefinition } from "../../domain/catalog/catalog.ts";
import { type Api, WITH_USAGE_OPTION } from "../../domain/words/api.ts";
import { FIELD_NAMES } from "../../worker/apis/provider-dialects.ts";
import type { Answering, Backend } from "../../worker/calls/backend.ts";
import { createChatRuntime } from "../../worker/calls/chat-runtime.ts";
import { createOpenAiBackend } from "../../worker/calls/openai-backend.ts";
import type { Runtime } from "../../worker/calls/runtime.ts";
import type { VaultConnector } from "../catalog/vault/connector.ts";
import { createMessagesBackend } from "./messages-backend.ts";
import { ProviderWay } from "./provider-way.ts";

/** The headers of an answer come early only if it is a stream, and few calls of an object may wait for theirs. */
const streamed = (api: Api, body: JsonObject): JsonObject => {
  if (api === "embeddings") return body;
  if (!WITH_USAGE_OPTION.has(api)) return { ...body, stream: true };
  const options = typeof body.stream_options === "object" ? body.stream_options : {};
  return { ...body, stream: true, stream_options: { ...options, include_usage: true } };
};

/** Always as a stream, of which no event has the key. */
const streaming = (backend: Backend, way: ProviderWay): Backend => {
  const guarded = (run: Answering): Answering => ({
    ...run,
    emit: (events) => {
      way.refuseKeyIn(events);
      return run.emit(events);
    },
  });
  return {
    chat: (body, run) => backend.chat(body, guarded(run)),
    request: (request, run) => backend.request({ ...request, body: streamed(request.api, request.body) }, guarded(run)),
  };
};

interface ProviderRuntime {
  readonly runtime: Runtime;
  readonly way: ProviderWay;
}

export const providerRuntime = (
  provider: ProviderDefinition & { readonly api: ProviderApi },
  connector: VaultConnector,
): ProviderRuntime => {
  const { provider: name, api } = provider;
  const way = new ProviderWay(provider, connector);
  const options = { name, baseUrl: api.base_url.replace(/\/+$/, ""), key: async () => null, way };
  const backend =
    api.dialect === "anthropic"
      ? createMessagesBackend(options)
      : createOpenAiBackend({ ...options, ...FIELD_NAMES[name] });
  const runtime = createChatRuntime({
    name,
    address: api.base_url,
    backend: streaming(backend, way),
    models: null,
    checksAnswer: false,
    classify: way.classify,
    probeEveryMs: 0,
    probe: async () => ({ unavailable: null, apis: [], models: null }),
  });
  return { runtime, way };
};
