// The front door as this client uses it: the models that the workers offer, and a chat whose answer is read while it is
// written.

import type { ModelList } from "../front-door/model-list.ts";
import type { CallOptions, Transport } from "./transport.ts";

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly temperature?: number;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage: boolean };
}

export interface ChatOptions extends CallOptions {
  /** Comma-separated: the worker must offer all of them. */
  readonly tags?: string | undefined;
}

export const frontDoorVerbs = (transport: Transport) => ({
  models: (options?: CallOptions) => transport.get<ModelList>("/v1/models", options),
  /** The answer when it begins: its headers name the job and the worker. */
  chat: (request: ChatRequest, { tags, ...options }: ChatOptions = {}) =>
    transport.response({
      method: "POST",
      path: "/v1/chat/completions",
      body: request,
      headers: { "x-signalbox-tags": tags || undefined },
      options,
    }),
});
