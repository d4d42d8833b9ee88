// Calls over plain HTTP in Node, whose answers are read whole: by Node's own HTTP client they take a third of the CPU
// that they take by `fetch`, which makes streams for each call (150 µs and 450, measured on Node 22 with 32 jobs a
// call). It does as `fetch` does; whatever else is asked for, or was set up by the program, goes by `fetch`.

import type { FetchWhole, WholeAnswer } from "../contract/client/transport.ts";

/** Of Node's `http`, as far as it is used. */
interface NodeHttp {
  readonly request: (url: string, options: object, answered: (answer: NodeAnswer) => void) => NodeRequest;
}

interface NodeRequest {
  readonly on: (event: "error" | "close" | "timeout", listener: (error: unknown) => void) => unknown;
  readonly end: (body: string | undefined) => unknown;
  readonly destroy: (error: unknown) => unknown;
}

interface NodeAnswer {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly setEncoding: (encoding: "utf8") => unknown;
  readonly on: (event: "data" | "end" | "error", listener: (value: never) => void) => unknown;
  readonly destroy: (error: Error) => unknown;
}

interface NodeProcess {
  readonly versions?: Readonly<Record<string, string | undefined>>;
  readonly getBuiltinModule?: (name: string) => unknown;
}

const PLAIN_HTTP = "http:";
/** Just below what a string may have in Node: more would end the program. */
const MAX_ANSWER_CHARS = 500_000_000;
/** As long as Node's `fetch` waits for the next byte of an answer. */
const IDLE_MS = 300_000;
/**
 * Where Node's `fetch` and the package undici keep what sends requests, such as a proxy. From Node 26 on `.2` counts,
 * and `.1` has something that passes requests on to it.
 */
const DISPATCHERS = [Symbol.for("undici.globalDispatcher.2"), Symbol.for("undici.globalDispatcher.1")];
const builtInFetch = globalThis.fetch;

/** Other runtimes have some of Node's modules, too; their own `fetch` suits them better. */
const httpOfNode = (): NodeHttp | null => {
  const { process, navigator } = globalThis as { process?: NodeProcess; navigator?: { userAgent?: string } };
  const { node, bun, deno } = process?.versions ?? {};
  const isNode = node !== undefined && bun === undefined && deno === undefined;
  const isSaid = navigator?.userAgent?.startsWith("Node.js/") ?? true;
  return isNode && isSaid ? ((process?.getBuiltinModule?.("node:http") as NodeHttp | undefined) ?? null) : null;
};

/** Whether the program has left `fetch` as it is. */
const isFetchItsOwn = (): boolean => {
  const kept = globalThis as { readonly [name: symbol]: object | undefined };
  const dispatcher = DISPATCHERS.map((name) => kept[name]).find((one) => one !== undefined);
  return globalThis.fetch === builtInFetch && (dispatcher === undefined || dispatcher.constructor.name === "Agent");
};

interface Bounds {
  readonly idleMs: number;
  readonly answerChars: number;
}

const BOUNDS: Bounds = { idleMs: IDLE_MS, answerChars: MAX_ANSWER_CHARS };

/** Undefined where there is only `fetch`. */
export const nodeFetch = (url: string, bounds: Partial<Bounds> = {}): FetchWhole | undefined => {
  const http = httpOfNode();
  if (http === null || !url.startsWith(PLAIN_HTTP)) return undefined;
  return (address, init) =>
    (init.body === undefined || typeof init.body === "string") && isFetchItsOwn()
      ? send(http, address, init, { ...BOUNDS, ...bounds })
      : fetch(address, init);
};

/** Rejects as `fetch` does: with the signal's reason, or with an error whose cause says what happened. */
const send = (
  http: NodeHttp,
  url: string,
  { method, headers, body, signal }: RequestInit,
  { idleMs, answerChars }: Bounds,
): Promise<WholeAnswer> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const failed = (cause: unknown): void =>
      reject(signal?.aborted ? signal.reason : new TypeError("fetch failed", { cause }));
    const options = { method, headers: Object.fromEntries(headers as Headers), timeout: idleMs };
    const request = http.request(url, options, (answer) => resolve(wholeAnswer(answer, answerChars)));
    const stop = (): void => void request.destroy(signal?.reason);
    signal?.addEventListener("abort", stop);
    request.on("timeout", () => void request.destroy(new Error(`nothing came for ${idleMs} ms`)));
    request.on("close", () => {
      signal?.removeEventListener("abort", stop);
      // Node says of an answer that is none, such as an upgrade that was not asked for, only that it has closed.
      failed(new Error("closed without an answer"));
    });
    request.on("error", failed);
    request.end(body as string | undefined);
  });

const wholeAnswer = (answer: NodeAnswer, maxChars: number): WholeAnswer => {
  const { statusCode: status, statusMessage: statusText, headers } = answer;
  const text = new Promise<string>((resolve, reject) => {
    let read = "";
    answer.setEncoding("utf8");
    answer.on("data", (part: string) => {
      if (read.length + part.length > maxChars) answer.destroy(new Error("the answer is too long"));
      else read += part;
    });
    answer.on("end", () => resolve(read));
    answer.on("error", reject);
  });
  // A caller that does not read it does not hear that it broke off.
  text.catch(() => undefined);
  return {
    status,
    statusText,
    ok: status >= 200 && status < 300,
    type: "default",
    headers: { get: (name) => headers[name]?.toString() ?? null },
    text: () => text,
  };
};
