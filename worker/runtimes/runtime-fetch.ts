// The fetch that talks to model runtimes. A slow local model may be silent for many minutes before its first token, where
// Node's own fetch gives up after five; the job's timeout is what bounds a call. Redirects are refused: they would carry
// a provider's key to another host.

import { Agent, fetch as undiciFetch } from "undici";

const MAX_SILENCE_MS = 3_600_000;
const CONNECT_TIMEOUT_MS = 10_000;

const agent = new Agent({
  headersTimeout: MAX_SILENCE_MS,
  bodyTimeout: MAX_SILENCE_MS,
  connect: { timeout: CONNECT_TIMEOUT_MS },
});

// undici's types and the platform's name the same things differently.
const fetchWithAgent = undiciFetch as unknown as (url: string, init: object) => Promise<Response>;

export const runtimeFetch: typeof fetch = (target, init) => {
  const url = target instanceof Request ? target.url : String(target);
  return fetchWithAgent(url, { ...init, redirect: "error", dispatcher: agent });
};
