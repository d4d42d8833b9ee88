// The data line: the second WebSocket of a worker, which carries what its jobs write while they write it. A frame is text:
// parts divided by U+001E, each a head line (job, lease, perhaps `end`) and a body. A body is whole SSE events as the client
// shall have them, or with `end` nothing or the error that ended the stream.

import * as z from "zod";

export const PART_SEPARATOR = "\u001e";
/** Frames beyond the first of a stream are this far apart: what is ready by then travels together. */
export const FRAME_EVERY_MS = 20;
export const MAX_PART_BYTES = 1024 * 1024;
export const MAX_DATA_FRAME_BYTES = 4 * 1024 * 1024;

export type StreamError = { code: string; message: string; status?: number };

export type StreamPart =
  | { kind: "events"; jobId: string; lease: number; events: string }
  | { kind: "end"; jobId: string; lease: number; error: StreamError | null };

const streamError = z.object({ code: z.string(), message: z.string(), status: z.int().optional() });

/** Coordinator → worker: nobody reads this stream any more. `job.halted` follows on the other socket. */
export const readerGone = z.object({ type: z.literal("reader.gone"), job_id: z.string(), lease: z.int() });
export type ReaderGone = z.infer<typeof readerGone>;

export const writePart = (part: StreamPart): string =>
  part.kind === "events"
    ? `${part.jobId} ${part.lease}\n${part.events}`
    : `${part.jobId} ${part.lease} end\n${part.error === null ? "" : JSON.stringify(part.error)}`;

const HEAD = /^([A-Za-z0-9_-]{1,64}) (\d{1,15})( end)?\n/;

/** The parts of a frame, in order; what is no part is left out. */
export const readParts = (frame: string): StreamPart[] =>
  frame.split(PART_SEPARATOR).flatMap((text): StreamPart[] => {
    const head = HEAD.exec(text);
    if (head === null) return [];
    const [whole, jobId = "", lease, end] = head;
    const body = text.slice(whole.length);
    if (end === undefined) return [{ kind: "events", jobId, lease: Number(lease), events: body }];
    return [{ kind: "end", jobId, lease: Number(lease), error: body === "" ? null : readError(body) }];
  });

const readError = (text: string): StreamError => {
  const unknown = { code: "internal", message: "the worker ended the stream without saying why" };
  try {
    const { code, message, status } = streamError.parse(JSON.parse(text));
    return { code, message, ...(status === undefined ? {} : { status }) };
  } catch {
    return unknown;
  }
};
