// One request and its answer, over any `fetch`. A temporary failure is retried if the service says that it did nothing,
// or if a repetition is harmless. Invariant: a repetition has the same idempotency key, so that it takes effect once.

import { isAddress, NOT_AN_ADDRESS, trimAddress } from "../text/address.ts";
import { isNeverReached, reasonOf } from "../text/error-causes.ts";
import { isObject, parseJson } from "../text/json-object.ts";
import { randomHex } from "../text/random-hex.ts";
import { isSendableKey, UNSENDABLE_KEY } from "../text/secret-text.ts";
import { ApiProblem, problemOf } from "./problem.ts";

export interface ClientOptions {
  /** The service's address; empty for the page's own origin. */
  readonly url: string;
  readonly key?: string | undefined;
  readonly fetch?: typeof fetch | undefined;
  /** How often a temporary failure is retried. */
  readonly retries?: number | undefined;
  /** For one try, until its answer begins; longer than the longest `wait`. */
  readonly timeoutMs?: number | undefined;
  /** Before the pause of each retry. */
  readonly onRetry?: ((problem: ApiProblem) => void) | undefined;
  readonly onProblem?: ((problem: ApiProblem, path: string) => void) | undefined;
}

/** What is read of an answer whose content is read whole. */
export type WholeAnswer = Pick<Response, "status" | "statusText" | "ok" | "type" | "text"> & {
  readonly headers: Pick<Headers, "get">;
};

/** Of the function `fetch`, what a call needs. */
type Fetch<Answer> = (url: string, init: RequestInit) => Promise<Answer>;

export type FetchWhole = Fetch<WholeAnswer>;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** For methods that create jobs: without a key, one is made for each call, so that its retries are safe. */
export interface KeyedOptions extends CallOptions {
  readonly idempotencyKey?: string | undefined;
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Filters as a caller gives them: each may be missing or null. */
export type QueryOf<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | null | undefined };

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly query?: Query | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /**
   * `keyed`: repeated with an idempotency key. By default reads and replacements are safe to repeat, others are not.
   */
  readonly repeats?: "safe" | "keyed";
  /** Sends or fetches much: only `options.signal` ends it. */
  readonly isLong?: boolean;
  readonly options?: KeyedOptions | undefined;
}

/** What an answer holds, and the entity tag of it. */
export interface Tagged<Content> {
  readonly content: Content;
  readonly etag: string | null;
}

export type Bytes = string | Blob | ReadableStream<Uint8Array>;

/** A body that is not JSON, with its media type; a stream is read while it is sent. */
export class RawBody {
  readonly content: Bytes;
  readonly type: string;

  constructor(content: Bytes, type: string) {
    this.content = content;
    this.type = type;
  }
}

const DEFAULT_RETRIES = 2;
const DEFAULT_TIMEOUT_MS = 60_000;
const FIRST_BACKOFF_MS = 500;
/** If the service asks for a longer pause, the call fails at once. */
const LONGEST_PAUSE_MS = 60_000;

/** Refusals that soon end by themselves. The others (a killswitch, a budget, no worker) are the answer. */
const PASSING_CODES: ReadonlySet<string> = new Set([
  "rate_limited",
  "overloaded",
  "tenant_unavailable",
  "history_backlog",
  "history_unavailable",
]);
const PASSING_STATUSES: ReadonlySet<number> = new Set([0, 429, 502, 503, 504]);
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "PUT"]);

/** A path whose parts may be any text: `pathOf` + "`/api/jobs/${id}`". */
export const pathOf = (fixed: TemplateStringsArray, ...parts: readonly string[]): string =>
  fixed.map((text, at) => text + (at < parts.length ? encodeURIComponent(parts[at] ?? "") : "")).join("");

const withQuery = (path: string, query: Query = {}): string => {
  // An empty text asks for nothing, except of metadata, whose values may be empty.
  const isAsked = (name: string, value: Query[string]): boolean =>
    value !== null && value !== undefined && (value !== "" || name.startsWith("metadata."));
  const given = Object.entries(query).filter(([name, value]) => isAsked(name, value));
  return given.length === 0
    ? path
    : `${path}?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, `${value}`]))}`;
};

const isPassing = ({ status, code }: ApiProblem): boolean =>
  code === "unexpected_answer" || code === "unreachable" || code === "timeout"
    ? PASSING_STATUSES.has(status)
    : PASSING_CODES.has(code);

const wasNothingDone = ({ status, code }: ApiProblem): boolean => status === 429 || code === "overloaded";

/** A stream is read once. */
const isStream = (body: unknown): boolean => body instanceof RawBody && body.content instanceof ReadableStream;

/** Takes effect once, however often it arrives. */
const isHarmless = ({ repeats, method }: Call): boolean => repeats !== undefined || SAFE_METHODS.has(method);

const mayRepeat = (call: Call, problem: ApiProblem): boolean =>
  isPassing(problem) && !isStream(call.body) && (wasNothingDone(problem) || isHarmless(call));

const pauseMs = (problem: ApiProblem, attempt: number): number =>
  Math.max(
    (problem.retryAfterSeconds ?? 0) * 1000,
    Math.min(FIRST_BACKOFF_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2),
  );

export const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });

const sendable = (key: string): string => {
  if (isSendableKey(key.trim())) return key.trim();
  const detail = `the key ${UNSENDABLE_KEY}`;
  throw new ApiProblem({ status: 0, code: "authentication_failed", title: "Authentication failed", detail });
};

const RANDOM_CHARS = 32;

/** Later keys sort behind earlier ones, so that the service finds and adds them near each other: half the CPU for both. */
export const freshKey = (nowAt: number): string => `${nowAt.toString(16).padStart(12, "0")}-${randomHex(RANDOM_CHARS)}`;

const headersOf = ({ headers = {}, body, options, repeats }: Call, key: string | undefined): Headers => {
  const all = new Headers();
  if (key !== undefined) all.set("authorization", `Bearer ${sendable(key)}`);
  if (body !== undefined) all.set("content-type", body instanceof RawBody ? body.type : "application/json");
  if (repeats === "keyed") all.set("idempotency-key", options?.idempotencyKey ?? freshKey(Date.now()));
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) all.set(name, value);
  return all;
};

/** What OpenSSL says of it; a proxy may give one, too. */
const PLAIN_ANSWER = /wrong version number|packet length too long/;

const MAY_BE_DONE = "It may have been done all the same: look before you try again.";

/** `isRepeated`: an earlier try of it may have arrived. */
type Try = Call & { readonly isRepeated?: boolean };

/** Takes effect once also where its caller makes it again: a key that was made for the call is another one then. */
const mayBeCalledAgain = (call: Call): boolean =>
  isHarmless(call) && (call.repeats !== "keyed" || call.options?.idempotencyKey !== undefined);

const isPlain = (url: string, error: unknown): boolean =>
  url.startsWith("https:") && PLAIN_ANSWER.test(reasonOf(error));

const hasNotArrived = (url: string, error: unknown): boolean => isPlain(url, error) || isNeverReached(error);

export const unreachable = (url: string, error: unknown, call?: Try): ApiProblem => {
  const cause = isPlain(url, error) ? "it does not speak https: write http://" : reasonOf(error) || String(error);
  const where = url === "" ? "" : ` at ${url}`;
  const isNotSent = call?.isRepeated !== true && hasNotArrived(url, error);
  const isSure = call === undefined || mayBeCalledAgain(call) || isNotSent;
  return new ApiProblem(
    {
      status: 0,
      code: "unreachable",
      title: "Signalbox cannot be reached",
      detail: `No answer from Signalbox${where} (${cause}). ${isSure ? "Check that it runs and try again." : MAY_BE_DONE}`,
    },
    { cause: error },
  );
};

const tooSlow = (afterMs: number, call: Call): ApiProblem => {
  const detail = `No answer within ${afterMs / 1000} s.${mayBeCalledAgain(call) ? "" : ` ${MAY_BE_DONE}`}`;
  return new ApiProblem({ status: 0, code: "timeout", title: "No answer in time", detail });
};

const redirected = ({ status, headers }: WholeAnswer): ApiProblem => {
  const detail = `The address redirects to ${headers.get("location") ?? "another address"}: use that address.`;
  return new ApiProblem({ status, code: "redirected", title: "Redirected", detail });
};

const isRedirect = ({ type, status }: WholeAnswer): boolean =>
  (type as string) === "opaqueredirect" || (status >= 300 && status < 400 && status !== 304);

const notAs = (wanted: string, { method, path }: Call, { status, headers }: WholeAnswer): ApiProblem => {
  const type = headers.get("content-type") ?? "content of no type";
  const instead = wanted === "JSON" && type.includes("json") ? `${type} that is no object` : `${type}, not ${wanted}`;
  const detail = `${method} ${path} was answered with ${instead}: another service uses that address.`;
  return new ApiProblem({ status, code: "unexpected_answer", title: "Unexpected answer", detail });
};

export class Transport {
  readonly #options: ClientOptions;
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #fetchWhole: FetchWhole;

  /** `fetchWhole`: for answers that are read whole; by default `fetch`. @throws TypeError if `url` is no address. */
  constructor(options: ClientOptions, fetchWhole?: FetchWhole) {
    this.#options = options;
    this.#base = trimAddress(options.url);
    if (this.#base !== "" && !isAddress(this.#base)) throw new TypeError(`url "${options.url}" ${NOT_AN_ADDRESS}`);
    // Called without `this`, because a browser's fetch refuses any other.
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#fetchWhole = fetchWhole ?? this.#fetch;
  }

  /** The answer when it begins. @throws ApiProblem if it is not a success. */
  response(call: Call): Promise<Response> {
    return this.#tried(call, (one, headers) => this.#attempt(one, headers, this.#fetch));
  }

  /** An answer and its text: one that breaks off is asked for again, as if there had been none. */
  #whole(call: Call): Promise<{ answer: WholeAnswer; text: string }> {
    return this.#tried(call, async (one, headers) => {
      const answer = await this.#attempt(one, headers, this.#fetchWhole);
      return { answer, text: await this.#read(answer, one) };
    });
  }

  async #tried<Answer>(call: Call, attempt: (one: Try, headers: Headers) => Promise<Answer>): Promise<Answer> {
    const { key, retries = DEFAULT_RETRIES, onRetry, onProblem } = this.#options;
    const headers = headersOf(call, key);
    let isRepeated = false;
    for (let tried = 0; ; tried += 1) {
      try {
        return await attempt({ ...call, isRepeated }, headers);
      } catch (error) {
        if (!(error instanceof ApiProblem)) throw error;
        const ms = pauseMs(error, tried);
        if (tried >= retries || ms > LONGEST_PAUSE_MS || !mayRepeat(call, error)) {
          onProblem?.(error, call.path);
          throw error;
        }
        onRetry?.(error);
        isRepeated ||= !wasNothingDone(error) && !hasNotArrived(this.#base, error.cause);
        await pause(ms, call.options?.signal);
      }
    }
  }

  get<Answer>(path: string, options?: CallOptions, query?: Query): Promise<Answer> {
    return this.json({ method: "GET", path, query, options });
  }

  post<Answer>(path: string, body: unknown, options?: KeyedOptions, repeats?: Call["repeats"]): Promise<Answer> {
    return this.json({ method: "POST", path, body, options, ...(repeats && { repeats }) });
  }

  put<Answer>(path: string, body: unknown, options?: CallOptions): Promise<Answer> {
    return this.json({ method: "PUT", path, body, options });
  }

  patch<Answer>(path: string, body: unknown, options?: CallOptions): Promise<Answer> {
    return this.json({ method: "PATCH", path, body, options });
  }

  remove(path: string, options?: CallOptions): Promise<void> {
    return this.nothing({ method: "DELETE", path, options });
  }

  async json<Answer>(call: Call): Promise<Answer> {
    return (await this.jsonWithTag<Answer>(call)).content;
  }

  async jsonWithTag<Content>(call: Call): Promise<Tagged<Content>> {
    const { answer, text } = await this.#whole(call);
    const content = parseJson(text);
    if (!isObject(content)) throw notAs("JSON", call, answer);
    return { content: content as Content, etag: answer.headers.get("etag") };
  }

  /** Text of this media type. */
  async textWithTag(call: Call, type: string): Promise<Tagged<string>> {
    const { answer, text } = await this.#whole(call);
    if (answer.headers.get("content-type")?.startsWith(type) !== true) throw notAs(type, call, answer);
    return { content: text, etag: answer.headers.get("etag") };
  }

  async text(call: Call): Promise<string> {
    return (await this.#whole(call)).text;
  }

  async nothing(call: Call): Promise<void> {
    await this.text(call);
  }

  async #attempt<Answer extends WholeAnswer>(call: Try, headers: Headers, fetch: Fetch<Answer>): Promise<Answer> {
    const { method, path, query, body, isLong = false, options: { signal } = {} } = call;
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const deadline = new AbortController();
    const timer = isLong ? null : setTimeout(() => deadline.abort(), timeoutMs);
    const init: RequestInit = {
      method,
      headers,
      redirect: "manual",
      signal: signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]),
      ...(body === undefined ? {} : { body: body instanceof RawBody ? body.content : JSON.stringify(body) }),
      ...(isStream(body) ? { duplex: "half" } : {}),
    };
    try {
      const response = await fetch(this.#base + withQuery(path, query), init);
      if (isRedirect(response)) throw redirected(response);
      if (!response.ok && response.status !== 304) throw await problemOf(response);
      return response;
    } catch (error) {
      if (error instanceof ApiProblem) throw error;
      signal?.throwIfAborted();
      throw deadline.signal.aborted ? tooSlow(timeoutMs, call) : unreachable(this.#base, error, call);
    } finally {
      if (timer !== null) clearTimeout(timer);
    }
  }

  /** The whole body; a body that ends too early counts as no answer. */
  async #read(response: WholeAnswer, call: Try): Promise<string> {
    try {
      return await response.text();
    } catch (error) {
      call.options?.signal?.throwIfAborted();
      throw unreachable(this.#base, error, call);
    }
  }
}
