// A model runtime for tests with all five APIs, streamed and not, that can be told to be slow, to stall, to cut, to
// fail, to flood, to lie. It records the requests and which clients disconnected. Behaviour comes from `behave` (for
// each request), else from `metadata.mock` of the body (JSON text), else the defaults:
//
// const runtime = await new MockRuntime({ models: ["m1"] }).start();
// runtime.behave = () => ({ words: ["Hel", "lo"], delayMs: 20, stallAfter: 1 });

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Watched } from "../watched.ts";
import { answers, MOCK_APIS, type MockApi } from "./mock-answers.ts";

// biome-ignore lint/suspicious/noExplicitAny: a body is whatever the API wants, and tests look into it freely
type Body = any;

export type MockRequest = {
  method: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: Body;
  /** Exactly as it was sent. */
  text: string;
  /** The client disconnected before the answer was complete. */
  isAborted: boolean;
};

export type Behaviour = {
  /** What it says, one word per event; default: the last user text. */
  words?: readonly string[];
  /** Thinks first, if the API has reasoning. */
  reasoning?: readonly string[];
  /** Calls this tool instead of text; the arguments come in two events. */
  toolCall?: { id: string; name: string; arguments: string };
  usage?: { input: number; output: number; cached?: number } | null;
  /** Before the first byte of the answer, including headers. */
  headersAfterMs?: number;
  /** Between the events of a stream. */
  delayMs?: number;
  /** Sends nothing more after this many words, and keeps the connection. */
  stallAfter?: number;
  /** Destroys the connection after this many words. */
  cutAfter?: number;
  /** Ends the connection in order after this many words, without the stream's end event. */
  endAfter?: number;
  /** An error event after this many words, in the API's own format. */
  errorAfter?: number;
  /** Answers with this status and body instead. */
  status?: number;
  errorBody?: unknown;
  headers?: Record<string, string>;
  /** Repeats its words for ever, as fast as they are read. */
  floods?: boolean;
  /** SSE comments between the events, as OpenRouter sends. */
  comments?: boolean;
  /** Splits each event over several writes, also in the middle of characters. */
  splits?: boolean;
  /** Lines end with CR LF. */
  crlf?: boolean;
  /** The model that it claims to have answered with. */
  model?: string;
};

export type MockOptions = { models?: readonly string[]; apis?: readonly MockApi[]; ownedBy?: string };

const DEFAULT_USAGE = { input: 7, output: 2 };

export class MockRuntime extends Watched {
  readonly asked: MockRequest[] = [];
  models: readonly string[];
  apis: readonly MockApi[];
  url = "";
  behave: (request: MockRequest) => Behaviour | undefined = () => undefined;
  readonly #ownedBy: string;
  #server: Server;
  #port = 0;

  constructor({ models = ["m1"], apis = [...MOCK_APIS, "messages/count_tokens"], ownedBy = "mock" }: MockOptions = {}) {
    super();
    this.models = models;
    this.apis = apis;
    this.#ownedBy = ownedBy;
    this.#server = this.#create();
  }

  /** Listens; after a `stop` on the same port, like a restarted runtime. */
  async start(): Promise<this> {
    this.#server = this.#create();
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
    this.url = `http://127.0.0.1:${this.#port}`;
    return this;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** Requests for an answer, without probes (an empty body) and lists. */
  get calls(): MockRequest[] {
    return this.asked.filter(({ method, body }) => method === "POST" && body !== null && Object.keys(body).length > 0);
  }

  /** Resolves when a client has disconnected from an incomplete answer. */
  untilAborted(): Promise<void> {
    return this.until(() => this.asked.some(({ isAborted }) => isAborted));
  }

  #create(): Server {
    return createServer((request, response) => void this.#answer(request, response).catch(() => response.destroy()));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { method = "GET", url = "/", headers } = request;
    const asked = { method, path: url, headers, body: text === "" ? null : JSON.parse(text), text, isAborted: false };
    this.asked.push(asked);
    const gone = new AbortController();
    response.on("close", () => {
      asked.isAborted = !response.writableFinished;
      gone.abort();
      this.changed();
    });
    this.changed();
    const path = url.replace(/[?#].*$/, "").replace(/^\/v1beta\/openai/, "/v1");
    if (method === "GET" && path === "/v1/models") return json(response, 200, this.#modelList());
    const api = this.apis.find((one) => path === `/v1/${one}`);
    if (method !== "POST" || api === undefined) return json(response, 404, { error: `no ${method} ${path} here` });
    if (Object.keys(asked.body ?? {}).length === 0) {
      return json(response, 400, { error: { message: "model is required", type: "invalid_request_error" } });
    }
    const behaviour = this.behave(asked) ?? behaviourOf(asked.body);
    if (behaviour.headersAfterMs) await delay(behaviour.headersAfterMs, undefined, { signal: gone.signal });
    if (behaviour.status !== undefined) return refuse(response, api, behaviour);
    await speak(response, api, asked.body, behaviour, gone.signal);
  }

  #modelList(): unknown {
    const row = (id: string) => ({ id, object: "model", created: 1, owned_by: this.#ownedBy });
    return { object: "list", data: this.models.map(row) };
  }
}

function behaviourOf(body: Body): Behaviour {
  const told = body.metadata?.mock;
  return typeof told === "string" ? JSON.parse(told) : {};
}

function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

function refuse(response: ServerResponse, api: MockApi, { status = 500, errorBody, headers = {} }: Behaviour): void {
  json(response, status, errorBody ?? answers[api].error("the mock was told to refuse"), headers);
}

async function speak(
  response: ServerResponse,
  api: MockApi,
  body: Body,
  behaviour: Behaviour,
  gone: AbortSignal,
): Promise<void> {
  const said = {
    words: behaviour.words ?? (behaviour.toolCall ? [] : words(lastUserText(body))),
    reasoning: behaviour.reasoning ?? [],
    toolCall: behaviour.toolCall ?? null,
    usage: behaviour.usage === undefined ? DEFAULT_USAGE : behaviour.usage,
    model: behaviour.model ?? body.model ?? "m1",
    body,
  };
  const dialect = answers[api];
  if (body.stream !== true || dialect.stream === null) {
    if (behaviour.stallAfter !== undefined) return;
    if (behaviour.cutAfter !== undefined) return void response.destroy();
    return json(response, 200, dialect.whole(said), behaviour.headers);
  }
  response.writeHead(200, { "content-type": "text/event-stream", ...behaviour.headers });
  const write = (event: string) => writeEvent(response, event, behaviour, gone);
  const { before, word, after } = dialect.stream(said);
  for (const event of before) await write(event);
  for (let count = 0; behaviour.floods || count <= said.words.length; count++) {
    if (gone.aborted) return;
    if (behaviour.stallAfter === count) return;
    if (behaviour.cutAfter === count) return void response.destroy();
    if (behaviour.endAfter === count) return void response.end();
    if (behaviour.errorAfter === count) return void response.end(dialect.errorEvent("the mock was told to fail"));
    if (!behaviour.floods && count === said.words.length) break;
    await write(word(said.words[count % said.words.length] ?? ""));
    if (behaviour.delayMs) await delay(behaviour.delayMs, undefined, { signal: gone });
  }
  for (const event of after()) await write(event);
  response.end();
}

async function writeEvent(
  response: ServerResponse,
  event: string,
  { comments = false, splits = false, crlf = false }: Behaviour,
  gone: AbortSignal,
): Promise<void> {
  const text = (comments ? ": still here\n\n" : "") + event;
  const bytes = Buffer.from(crlf ? text.replaceAll("\n", "\r\n") : text);
  const pieces = splits ? [...bytes].map((_, at) => bytes.subarray(at, at + 1)) : [bytes];
  for (const piece of pieces) {
    if (gone.aborted) return;
    if (splits) await new Promise(setImmediate);
    if (!response.write(piece)) await once(response, "drain", { signal: gone });
  }
}

function words(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

/** The last text of the user, in any API. */
function lastUserText(body: Body): string {
  const turns = body.messages ?? body.input ?? body.prompt ?? "";
  const last = Array.isArray(turns)
    ? turns.findLast((turn) => turn?.role === "user" || typeof turn === "string")
    : turns;
  const content = last?.content ?? last;
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map((part) => part?.text ?? "").join("") : "";
}
