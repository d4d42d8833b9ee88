// A model runtime as its adapters see it: ordinary jobs are sent as OpenAI chat, jobs of the front door in the client's
// own API. One call is one attempt: nothing is retried here, because the coordinator counts attempts and applies the
// providers' limits.

import type { LeasedJob } from "../../contract/fleet/worker.ts";
import type { JsonObject } from "../../contract/text/json-object.ts";
import type { Api } from "../../contract/words/values.ts";
import type { ChatBody } from "./chat-body.ts";
import type { Outcome, RunOptions } from "./runtime.ts";

export type Answering = Pick<
  RunOptions,
  "signal" | "emit" | "traceparent" | "isPassedOn" | "isRead" | "store" | "openFile"
>;

type ClientRequest = {
  api: Api;
  body: JsonObject;
  headers: Readonly<Record<string, string>>;
  /** What the fields of a form name. */
  files: LeasedJob["files"];
};

export type Backend = {
  /** The result is a chat completion; the emitted events are its chunks. */
  chat: (body: ChatBody, run: Answering) => Promise<Outcome>;
  /** The unchanged request; result and events have the form of its API. */
  request: (request: ClientRequest, run: Answering) => Promise<Outcome>;
};
