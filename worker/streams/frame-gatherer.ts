// Gathers the output of many streams into few frames. The first part of a stream is sent at once; after that at most
// one frame goes out every 20 ms, with everything that is ready. The order within a stream is kept. Uses no network:
// time and sending are arguments.

import {
  FRAME_EVERY_MS,
  MAX_DATA_FRAME_BYTES,
  MAX_PART_BYTES,
  PART_SEPARATOR,
  PIECE_CHARS,
  type StreamError,
  writePart,
} from "../../contract/data-line.ts";
import { piecesOf } from "../../contract/text/event-text.ts";
import { streamKey } from "./streams.ts";

/** The head line of a part, with the longest id and lease. */
const MAX_HEAD_BYTES = 128;

/** The event, or its pieces if it is too long for a part. */
const fitting = (event: string): string[] =>
  event.length <= PIECE_CHARS || Buffer.byteLength(event) + MAX_HEAD_BYTES <= MAX_PART_BYTES
    ? [event]
    : [...piecesOf(event, PIECE_CHARS)];

type EventBatch = { jobId: string; lease: number; events: string[]; bytes: number };
type Ended = { jobId: string; lease: number; text: string; bytes: number };

type FrameGathererOptions = {
  send: (frame: string) => void;
  nowMs?: () => number;
};

export class FrameGatherer {
  readonly #send: (frame: string) => void;
  readonly #nowMs: () => number;
  #parts: (EventBatch | Ended)[] = [];
  /** The last part of each stream, which may still grow. */
  readonly #open = new Map<string, EventBatch>();
  readonly #begun = new Set<string>();
  #lastFrameAtMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #bytes = 0;

  constructor({ send, nowMs = () => performance.now() }: FrameGathererOptions) {
    this.#send = send;
    this.#nowMs = nowMs;
  }

  /** Bytes not sent yet. */
  get waitingBytes(): number {
    return this.#bytes;
  }

  write(jobId: string, lease: number, events: readonly string[]): void {
    const key = streamKey(jobId, lease);
    for (const event of events.flatMap(fitting)) {
      const bytes = Buffer.byteLength(event);
      const open = this.#open.get(key);
      if (open !== undefined && open.bytes + bytes + MAX_HEAD_BYTES <= MAX_PART_BYTES) {
        open.events.push(event);
        open.bytes += bytes;
      } else {
        const part = { jobId, lease, events: [event], bytes };
        this.#parts.push(part);
        this.#open.set(key, part);
      }
      this.#bytes += bytes;
    }
    const isFirst = !this.#begun.has(key);
    this.#begun.add(key);
    this.#schedule(isFirst);
  }

  end(jobId: string, lease: number, error: StreamError | null): void {
    const text = writePart({ kind: "end", jobId, lease, error });
    const bytes = Buffer.byteLength(text);
    this.#parts.push({ jobId, lease, text, bytes });
    this.#bytes += bytes;
    this.#close(jobId, lease);
    this.#schedule(false);
  }

  /** Discards the unsent output of this stream. */
  drop(jobId: string, lease: number): void {
    this.#parts = this.#parts.filter((part) => {
      const isDropped = part.jobId === jobId && part.lease === lease;
      if (isDropped) this.#bytes -= part.bytes;
      return !isDropped;
    });
    this.#close(jobId, lease);
  }

  /** Discards all unsent output. */
  clear(): void {
    this.#parts = [];
    this.#open.clear();
    this.#begun.clear();
    this.#bytes = 0;
  }

  flush(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#timer = undefined;
    this.#immediate = undefined;
    if (this.#parts.length === 0) return;
    this.#lastFrameAtMs = this.#nowMs();
    const parts = this.#parts;
    this.#parts = [];
    this.#open.clear();
    this.#bytes = 0;
    for (const frame of framesOf(parts)) this.#send(frame);
  }

  #schedule(isFirst: boolean): void {
    if (this.#immediate !== undefined) return;
    const waitMs = this.#lastFrameAtMs + FRAME_EVERY_MS - this.#nowMs();
    if (isFirst || waitMs <= 0) this.#immediate = setImmediate(() => this.flush());
    else this.#timer ??= setTimeout(() => this.flush(), waitMs);
  }

  #close(jobId: string, lease: number): void {
    const key = streamKey(jobId, lease);
    this.#open.delete(key);
    this.#begun.delete(key);
  }
}

function* framesOf(parts: readonly (EventBatch | Ended)[]): Generator<string> {
  let frame: string[] = [];
  let bytes = 0;
  for (const part of parts) {
    const size = part.bytes + MAX_HEAD_BYTES;
    if (bytes + size > MAX_DATA_FRAME_BYTES && frame.length > 0) {
      yield frame.join(PART_SEPARATOR);
      frame = [];
      bytes = 0;
    }
    frame.push("text" in part ? part.text : writePart({ ...part, kind: "events", events: part.events.join("") }));
    bytes += size;
  }
  if (frame.length > 0) yield frame.join(PART_SEPARATOR);
}
