// The fetch for model runtimes. A slow local model may be silent for many minutes before its first token, but Node's
// fetch gives up after five; here the job's timeout limits a call. Redirects are refused, because they would send a
// provider's key to another host.

import { Readable } from "node:stream";
import { Agent, fetch as undiciFetch } from "undici";
import type { Way } from "../calls/exchange.ts";
import { classifyError } from "./classify.ts";

const MAX_SILENCE_MS = 3_600_000;
const CONNECT_TIMEOUT_MS = 10_000;

const agent = new Agent({
  headersTimeout: MAX_SILENCE_MS,
  bodyTimeout: MAX_SILENCE_MS,
  connect: { timeout: CONNECT_TIMEOUT_MS },
});

// undici's types and the platform's differ only in name.
const fetchWithAgent = undiciFetch as unknown as (url: string, init: object) => Promise<Response>;

export const runtimeFetch: typeof fetch = (target, init) => {
  const url = target instanceof Request ? target.url : String(target);
  return fetchWithAgent(url, { ...init, redirect: "error", dispatcher: agent });
};

/** How a worker process reaches its runtime. */
export const runtimeWay: Way = {
  fetch: runtimeFetch,
  classify: (error) => classifyError(error, Date.now()),
  streamOf: (form) => Readable.from(form.pieces()),
};
