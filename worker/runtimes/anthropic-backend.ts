// Anthropic: its own API passes through; chat is converted.

import { createAnthropic } from "@ai-sdk/anthropic";
import { isAnthropic } from "../../contract/front-door/dialect.ts";
import { DIALECTS } from "../apis/dialects.ts";
import { ANTHROPIC_VERSION } from "../apis/provider-dialects.ts";
import type { Backend } from "../calls/backend.ts";
import { exchange } from "../calls/exchange.ts";
import { hidingSecret } from "../calls/hide-secret.ts";
import { requestFailure } from "../calls/request-failure.ts";
import { failed } from "../calls/runtime.ts";
import { type ConvertedModel, converted, convertedRequest } from "./converted-chat.ts";
import { hostedWay, runtimeFetch } from "./runtime-fetch.ts";

type AnthropicBackendOptions = { name: string; baseUrl: string; key: () => Promise<string | null> };

export const createAnthropicBackend = ({ name, baseUrl, key }: AnthropicBackendOptions): Backend => {
  const chat = (secret: string | null): ConvertedModel => ({
    name,
    kind: "anthropic",
    open: (model) => createAnthropic({ baseURL: baseUrl, apiKey: secret ?? "", fetch: runtimeFetch })(model),
  });
  return {
    chat: async (body, run) => {
      const secret = await key();
      return hidingSecret(secret, () => converted(chat(secret), body, run));
    },
    request: async ({ api, body, headers }, run) => {
      const secret = await key();
      if (api === "chat/completions") return hidingSecret(secret, () => convertedRequest(chat(secret), body, run));
      if (!isAnthropic(api))
        return failed({ code: "not_found", message: `${name} has no API "${api}"`, status: 404, retryable: false });
      const request = {
        url: `${baseUrl}/${api}`,
        headers: { "anthropic-version": ANTHROPIC_VERSION, ...headers, "x-api-key": secret ?? "" },
        body: JSON.stringify(body),
        dialect: DIALECTS[api],
        way: hostedWay,
        explain: (failure: object) => requestFailure(name, failure, Date.now()),
      };
      return hidingSecret(secret, () => exchange(request, run));
    },
  };
};
