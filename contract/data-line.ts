// The data line: a worker's second WebSocket, which carries the output of its jobs while they run. A frame is text:
// parts separated by U+001E, each a head line (job, lease, optionally `end`) and a body. The body is SSE events in the
// form the client gets them; an event that is too long for a part goes on in the stream's next. After `end` the body is
// empty or the error that ended the stream.

import * as z from "zod";

export const PART_SEPARATOR = "\u001e";
/** Minimum time between frames after the first of a stream; everything ready by then goes in one frame. */
export const FRAME_EVERY_MS = 20;
export const MAX_PART_BYTES = 1024 * 1024;
/** Characters of a piece of an event that is too long for a part: they fit into one, with its head. */
export const PIECE_CHARS: number = MAX_PART_BYTES / 4;
export const MAX_DATA_FRAME_BYTES = 4 * 1024 * 1024;
/** A worker has at most some thousand streams, and what one says in a frame is one part. */
export const MAX_FRAME_PARTS = 16_384;
/** Beside the client that made the request. While the job still waits, they are counted for each key. */
export const MAX_READERS_OF_A_STREAM = 16;

export type StreamError = { code: string; message: string; status?: number };

export type StreamPart =
  | { kind: "events"; jobId: string; lease: number; events: string }
  | { kind: "end"; jobId: string; lease: number; error: StreamError | null };

const streamError = z.object({ code: z.string(), message: z.string(), status: z.int().optional() });

/** Coordinator → worker: this stream has no reader any more. `job.halted` follows on the other socket. */
export const readerGone = z
  .object({ type: z.literal("reader.gone"), job_id: z.string(), lease: z.int() })
  .meta({ id: "ReaderGone" });
export type ReaderGone = z.infer<typeof readerGone>;

/**
 * Coordinator → worker: how many characters of a long stream its readers have taken, or are held for them. Not sent
 * while a reader is behind, so that a worker that waits at `AHEAD_CHARS` makes no reader slow.
 */
export const readerTook = z
  .object({ type: z.literal("reader.took"), job_id: z.string(), lease: z.int(), chars: z.int() })
  .meta({ id: "ReaderTook" });
export type ReaderTook = z.infer<typeof readerTook>;
/** The next `reader.took` comes after this many more characters. */
export const TOOK_EVERY_CHARS: number = MAX_PART_BYTES / 4;
/** A worker waits once it has said this many characters more than the last `reader.took` counts. */
export const AHEAD_CHARS: number = MAX_PART_BYTES / 2;

/** A separator among the events would end the part: JSON has it escaped, but a runtime's comment may say anything. */
export const writePart = (part: StreamPart): string =>
  part.kind === "events"
    ? `${part.jobId} ${part.lease}\n${part.events.replaceAll(PART_SEPARATOR, " ")}`
    : `${part.jobId} ${part.lease} end\n${part.error === null ? "" : JSON.stringify(part.error)}`;

const HEAD = /^([A-Za-z0-9_-]{1,64}) (\d{1,15})( end)?\n/;

/** The parts of a frame as they came; null if they are too many, or one is too long. */
export const splitFrame = (frame: string): string[] | null => {
  const texts = frame.split(PART_SEPARATOR, MAX_FRAME_PARTS + 1);
  return texts.length > MAX_FRAME_PARTS || texts.some((text) => text.length > MAX_PART_BYTES) ? null : texts;
};

/**
 * What they say; malformed parts are skipped. What one stream says in small parts is one part: each costs its
 * reader more than its text.
 */
export const readParts = (texts: readonly string[]): StreamPart[] => {
  const parts: StreamPart[] = [];
  const last = new Map<string, Extract<StreamPart, { kind: "events" }>>();
  for (const text of texts) {
    const head = HEAD.exec(text);
    if (head === null) continue;
    const [whole, jobId = "", lease = "", end] = head;
    const body = text.slice(whole.length);
    const stream = `${jobId} ${lease}`;
    const before = last.get(stream);
    if (end !== undefined) {
      parts.push({ kind: "end", jobId, lease: Number(lease), error: body === "" ? null : readError(body) });
      last.delete(stream);
    } else if (before !== undefined && before.events.length + body.length <= MAX_PART_BYTES) before.events += body;
    else {
      const part = { kind: "events" as const, jobId, lease: Number(lease), events: body };
      parts.push(part);
      last.set(stream, part);
    }
  }
  return parts;
};

const readError = (text: string): StreamError => {
  const unknown = { code: "internal", message: "the worker ended the stream without giving a reason" };
  try {
    const { code, message, status } = streamError.parse(JSON.parse(text));
    return { code, message, ...(status === undefined ? {} : { status }) };
  } catch {
    return unknown;
  }
};
