// The fetch for model runtimes. A slow local model may be silent for many minutes before its first token, but Node's
// fetch gives up after five; here the job's timeout limits a call. Redirects are refused, because they would send a
// provider's key to another host.

import { pipeline, Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createUnzip } from "node:zlib";
import { type Dispatcher, request, fetch as undiciFetch } from "undici";
import { entryOf } from "../../contract/words/values.ts";
import type { Way } from "../calls/exchange.ts";
import { REDIRECTED } from "../calls/failure.ts";
import { newDispatcher } from "../dispatcher.ts";
import { proxiesInUse } from "../proxies.ts";
import { classifyError } from "./classify.ts";

const MAX_SILENCE_MS = 3_600_000;
const CONNECT_TIMEOUT_MS = 10_000;

const TIMES = { headersTimeout: MAX_SILENCE_MS, bodyTimeout: MAX_SILENCE_MS, connect: { timeout: CONNECT_TIMEOUT_MS } };

let made: Dispatcher | null = null;
/** Made at the first call: the process has its proxies by then. */
const dispatcherOnce = (): Dispatcher => {
  made ??= newDispatcher(proxiesInUse(), TIMES);
  return made;
};

// undici's types and the platform's differ only in name.
const fetchWithAgent = undiciFetch as unknown as (url: string, init: object) => Promise<Response>;

export const runtimeFetch: typeof fetch = (target, init) => {
  const url = target instanceof Request ? target.url : String(target);
  return fetchWithAgent(url, { ...init, redirect: "error", dispatcher: dispatcherOnce() });
};

/** How a worker process reaches a hosted provider. */
export const hostedWay: Way = {
  fetch: runtimeFetch,
  classify: (error) => classifyError(error, Date.now()),
  streamOf: (form) => Readable.from(form.pieces()),
};

/** How it reaches a local runtime, whose tokens come as fast as they can be taken. */
export const localWay: Way = { ...hostedWay, fetch: localFetch };

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The platform's streams, which fetch puts between, cost a chunk as much as all else that a worker does with it. */
async function localFetch(url: string, init: RequestInit): ReturnType<Way["fetch"]> {
  const headers = { ...(init.headers as Record<string, string>), "accept-encoding": "identity" };
  const asked = { ...init, headers, dispatcher: dispatcherOnce() } as Parameters<typeof request>[1];
  const answer = await request(url, asked);
  const { statusCode: status } = answer;
  if (REDIRECTS.has(status)) {
    answer.body.on("error", () => {}).destroy();
    throw new TypeError("fetch failed", { cause: new Error(REDIRECTED) });
  }
  const told = headersOf(answer.headers);
  return { ok: status >= 200 && status < 300, status, headers: told, body: unpacked(answer.body, told) };
}

/** Some proxies pack an answer although none asked for it. A deflated one is read as such, too. */
const UNPACK: Readonly<Record<string, () => Transform>> = {
  gzip: createUnzip,
  "x-gzip": createUnzip,
  deflate: createUnzip,
  br: createBrotliDecompress,
};

/** As fetch reads an answer: one whose packing it does not know stays as it is. */
function unpacked(body: Readable, headers: Headers): Readable {
  const unpack = entryOf(UNPACK, headers.get("content-encoding")?.trim().toLowerCase() ?? "");
  // Its error is that of what is read.
  return unpack === undefined ? body : pipeline(body, unpack(), () => {});
}

function headersOf(told: Readonly<Record<string, string | string[] | undefined>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(told)) for (const one of [value ?? []].flat()) headers.append(name, one);
  return headers;
}
