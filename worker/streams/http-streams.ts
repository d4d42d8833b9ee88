// Streams without a WebSocket: one request per job, whose body is the events as they come. The coordinator answers
// early when the stream has no reader. The job's report says how a stream ended.

import type { StreamError } from "../../contract/data-line.ts";
import { within } from "../../contract/text/within.ts";
import { runtimeFetch } from "../runtimes/runtime-fetch.ts";
import type { SessionSettings } from "../session/session.ts";
import { type Streams, type StreamWriter, streamKey, type WhenGone } from "./streams.ts";

/** With this much unsent, the runtime is not read further. */
const FULL_BYTES = 1024 * 1024;

/** A slow reader keeps no report longer than this. */
const SENT_WITHIN_MS = 2_000;

type Open = { body: ReadableStreamDefaultController<Uint8Array>; halt: AbortController; sent: Promise<void> };

export class HttpStreams implements Streams {
  readonly #settings: SessionSettings;
  readonly #open = new Map<string, Open>();

  constructor(settings: SessionSettings) {
    this.#settings = settings;
  }

  prepare(): void {}

  open(jobId: string, lease: number, whenGone: WhenGone): StreamWriter {
    const encoder = new TextEncoder();
    let stream: Open | null = null;
    let hasRoom = () => {};
    let room: Promise<void> | null = null;
    const begin = (): Open => {
      const halt = new AbortController();
      let controller: Open["body"] | null = null;
      const body = new ReadableStream<Uint8Array>(
        {
          start: (given) => {
            controller = given;
          },
          pull: () => hasRoom(),
        },
        new ByteLengthQueuingStrategy({ highWaterMark: FULL_BYTES }),
      );
      const sent = this.#post(jobId, lease, body, halt.signal).then((isGone) => {
        this.#open.delete(streamKey(jobId, lease));
        hasRoom();
        if (isGone) whenGone();
      });
      if (controller === null) throw new Error("a stream starts at once");
      const opened = { body: controller as Open["body"], halt, sent };
      this.#open.set(streamKey(jobId, lease), opened);
      return opened;
    };
    return {
      write: (events) => {
        if (events.length === 0) return undefined;
        stream ??= begin();
        if (this.#open.get(streamKey(jobId, lease)) !== stream) return undefined;
        stream.body.enqueue(encoder.encode(events.join("")));
        if ((stream.body.desiredSize ?? 1) > 0) return undefined;
        room ??= new Promise<void>((resolve) => {
          hasRoom = () => {
            room = null;
            resolve();
          };
        });
        return room;
      },
    };
  }

  /** An error is not an event: it is in the job's report. */
  end(jobId: string, lease: number, error: StreamError | null): Promise<unknown> | undefined {
    const stream = this.#open.get(streamKey(jobId, lease));
    this.#open.delete(streamKey(jobId, lease));
    if (error !== null) stream?.halt.abort();
    if (error !== null || stream === undefined) return undefined;
    stream.body.close();
    return within(stream.sent, SENT_WITHIN_MS);
  }

  drop(jobId: string, lease: number): void {
    this.#open.get(streamKey(jobId, lease))?.halt.abort();
    this.#open.delete(streamKey(jobId, lease));
  }

  close(): void {
    for (const { halt } of this.#open.values()) halt.abort();
    this.#open.clear();
  }

  /** @returns whether the coordinator wants no more of it. */
  async #post(jobId: string, lease: number, body: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<boolean> {
    const { apiUrl, apiKey } = this.#settings;
    const url = `${apiUrl}/api/jobs/${encodeURIComponent(jobId)}/stream?lease=${lease}`;
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "text/event-stream" };
    try {
      const response = await runtimeFetch(url, {
        method: "POST",
        headers,
        body,
        signal,
        duplex: "half",
      } as RequestInit);
      await response.body?.cancel();
      return response.status === 409;
    } catch {
      return false;
    }
  }
}
