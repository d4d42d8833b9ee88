// Fetches, from the coordinator only, the input of a job that was too large for its message.

import type { LeasedJob } from "../contract/fleet/worker.ts";
import { reasonOf } from "../contract/text/error-causes.ts";
import { parseExact } from "../contract/text/exact-json.ts";
import type { JobFailure } from "./calls/runtime.ts";
import { textWithin } from "./calls/text-within.ts";

/** A client's request has at most 32 MiB; the coordinator writes some of its members again, which may be longer then. */
const MAX_INPUT_BYTES = 33 * 1024 * 1024;

export type LoadedInput = { ok: true; input: unknown } | { ok: false; error: JobFailure };
export type InputLoader = (job: LeasedJob, signal: AbortSignal) => Promise<LoadedInput>;

export const inputLoader = ({ apiUrl, apiKey }: { apiUrl: string; apiKey: string }): InputLoader => {
  return async (job, signal) => {
    const { input_url: path = "" } = job;
    // Always a path of the coordinator, so the key is sent nowhere else.
    const url = apiUrl + (path.startsWith("/") ? path : `/${path}`);
    try {
      const response = await fetch(url, { headers: { authorization: `Bearer ${apiKey}` }, redirect: "error", signal });
      if (!response.ok) return unavailable(`HTTP ${response.status}`);
      return { ok: true, input: parseExact(await textWithin(response, MAX_INPUT_BYTES)) };
    } catch (error) {
      signal.throwIfAborted();
      return unavailable(reasonOf(error));
    }
  };
};

const unavailable = (why: string): LoadedInput => {
  const message = `The worker could not fetch the job's input: ${why}`;
  return { ok: false, error: { code: "input_unavailable", message, retryable: true } };
};
