// A model runtime as its adapters see it: whatever serves it, it is asked in OpenAI's chat for ordinary jobs, and in a
// client's own API for jobs of the front door. One call is one attempt: nothing is retried here, because the coordinator
// counts attempts and keeps the providers' limits.

import type { Api } from "../../contract/values.ts";
import type { JsonObject } from "../json-object.ts";
import type { ChatBody } from "./chat-body.ts";
import type { Outcome, RunOptions } from "./runtime.ts";

export type Answering = Pick<RunOptions, "signal" | "emit" | "traceparent">;

export type ClientRequest = { api: Api; body: JsonObject; headers: Readonly<Record<string, string>> };

export type Backend = {
  /** The result is a chat completion; what is emitted are its chunks. */
  chat: (body: ChatBody, run: Answering) => Promise<Outcome>;
  /** The request as it came; the result and what is emitted are as its API has them. */
  request: (request: ClientRequest, run: Answering) => Promise<Outcome>;
};
