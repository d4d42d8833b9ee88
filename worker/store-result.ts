// Stores a result that no report carries with the coordinator, as it arrives: no process holds it whole. One that a
// handler has made is here whole, and is sent again while the coordinator is away, as a report is.

import { Readable } from "node:stream";
import { reasonOf } from "../contract/text/error-causes.ts";
import { PAYLOAD_TOO_LARGE } from "../contract/words/http-status.ts";
import { type JobFailure, resultTooLarge } from "./calls/runtime.ts";
import type { ResultStore } from "./run-job.ts";
import { runtimeFetch } from "./runtimes/runtime-fetch.ts";
import { untilSent } from "./session/backoff.ts";
import { mayPass, problemDetail } from "./session/session.ts";

export const resultStore = (at: { apiUrl: string; apiKey: string }): ResultStore => {
  const send = sendTo(at);
  return (job, bytes, contentType, signal, isWhole = false) =>
    untilSent(
      () => send(job, bytes, contentType, signal),
      (kept) => isWhole && !kept.ok && kept.error.retryable,
      signal,
    );
};

const sendTo = ({ apiUrl, apiKey }: { apiUrl: string; apiKey: string }): ResultStore => {
  return async (job, bytes, contentType, signal) => {
    const url = `${apiUrl}/api/jobs/${encodeURIComponent(job.id)}/result?lease=${job.lease}`;
    const source = failing(bytes);
    try {
      const response = await runtimeFetch(url, {
        method: "PUT",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": contentType },
        body: Readable.from(source.bytes),
        duplex: "half",
        signal,
      } as unknown as RequestInit);
      const text = await response.text();
      if (response.ok) return { ok: true, file: (JSON.parse(text) as { file: { id: string; bytes: number } }).file };
      return { ok: false, error: refusalOf(response.status, problemDetail(text)) };
    } catch (error) {
      signal.throwIfAborted();
      // What the runtime did wrong is told as the runtime's failure.
      if (source.failure() !== null) throw source.failure();
      return { ok: false, error: notStored(reasonOf(error), true) };
    }
  };
};

/** The same bytes, and what ended them early. */
const failing = (bytes: AsyncIterable<Uint8Array>): { bytes: AsyncIterable<Uint8Array>; failure: () => unknown } => {
  let failure: unknown = null;
  async function* noting(): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes;
    } catch (error) {
      failure = error;
      throw error;
    }
  }
  return { bytes: noting(), failure: () => failure };
};

/** A proxy between may have a limit of its own, and says nothing that can be read. */
const refusalOf = (status: number, detail: string): JobFailure => {
  if (status !== PAYLOAD_TOO_LARGE) return notStored(detail || `HTTP ${status}`, mayPass(status));
  return detail === "" ? notStored(`HTTP ${status} of a proxy: it limits the size of bodies`, false) : resultTooLarge();
};

const notStored = (why: string, retryable: boolean): JobFailure => ({
  code: "result_not_stored",
  message: `The coordinator did not take the result: ${why}`,
  retryable,
});
