// A runtime with OpenAI's API, possibly more of the others: requests are sent unchanged.

import { type Api, isFormApi } from "../../contract/words/values.ts";
import { DIALECTS } from "../apis/dialects.ts";
import { KEY_HEADERS } from "../apis/provider-dialects.ts";
import type { Answering, Backend } from "./backend.ts";
import { unsupportedInput } from "./chat-body.ts";
import { type Exchange, exchange, type Way } from "./exchange.ts";
import { classifyFailure } from "./failure.ts";
import { formBody } from "./form-body.ts";
import { hidingSecret } from "./hide-secret.ts";
import { requestFailure } from "./request-failure.ts";
import { failed } from "./runtime.ts";

type OpenAiBackendOptions = {
  way: Way;
  name: string;
  /** The URL up to where `/chat/completions` begins. */
  baseUrl: string;
  /** Where each API is, if not there. */
  urlOf?: (api: Api) => string;
  /** Fields of an ordinary job's chat that this provider calls by another name. */
  renames?: Readonly<Record<string, string>>;
  /** Fields of a model call that this provider does not have. Its counts come unasked if it lacks `stream_options`. */
  lacks?: readonly string[];
  /** The current key, or null; it never appears in a message. */
  key: () => Promise<string | null>;
};

export const createOpenAiBackend = (options: OpenAiBackendOptions): Backend => {
  const { name, baseUrl, urlOf = (api: Api) => `${baseUrl}/${api}`, renames = {}, lacks = [] } = options;
  /** Without what the coordinator itself asks of each stream, where it is refused. */
  const textOf = (body: object): string =>
    JSON.stringify(lacks.includes("stream_options") ? { ...body, stream_options: undefined } : body);
  const ask = async (
    api: Api,
    body: Exchange["body"],
    headers: Readonly<Record<string, string>>,
    explain: Exchange["explain"],
    run: Answering,
  ) => {
    const secret = await options.key();
    const request = {
      url: urlOf(api),
      headers: { ...headers, ...(secret === null ? {} : KEY_HEADERS.openai(secret)) },
      body,
      dialect: DIALECTS[api],
      way: options.way,
      explain,
    };
    return hidingSecret(secret, () => exchange(request, run));
  };
  return {
    chat: async (body, run) => {
      const missing = lacks.find((field) => body[field] !== undefined);
      if (missing !== undefined)
        return failed(unsupportedInput(`input.${missing}: ${name} does not have this parameter`));
      const renamed = Object.fromEntries(
        Object.entries(body).map(([field, value]) => [renames[field] ?? field, value]),
      );
      const streamed = { ...renamed, stream: true, stream_options: { include_usage: true } };
      return ask("chat/completions", textOf(streamed), {}, (failure) => classifyFailure(failure, Date.now()), run);
    },
    request: async ({ api, body, headers, files }, run) => {
      const { openFile } = run;
      const sent = isFormApi(api) && openFile !== undefined ? formBody(body, files, openFile) : textOf(body);
      return ask(api, sent, headers, (failure) => requestFailure(name, failure, Date.now()), run);
    },
  };
};
