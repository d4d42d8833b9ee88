// Everything of a stream that someone outside can make grow: who counts it, its bound, what is refused above it, and
// what frees it. The relay takes its numbers from here.

import { MAX_DATA_FRAME_BYTES, MAX_PART_BYTES } from "../../contract/data-line.ts";
import { closeCodes } from "../../contract/values.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** What a late reader can get again of one stream, and what a reader may leave unread for longer than a moment. */
export const WINDOW_BYTES = MIB;
/** What a burst may leave unread beyond that, for a moment: a data frame of the largest size. */
export const BURST_BYTES = MAX_DATA_FRAME_BYTES;
export const BURST_MS = 1_000;
export const MAX_STREAMS = 4_096;
/** Beside the client that made the request. */
export const MAX_READERS_OF_A_STREAM = 16;
/** Output that its tenant has not confirmed as this worker's yet. */
export const UNCONFIRMED_BYTES = 2 * MAX_DATA_FRAME_BYTES;
/** Windows and unread output of one relay. */
export const RELAY_BYTES = 32 * MIB;
/** The same of all relays of a process, which share it equally. */
export const PROCESS_BYTES = 64 * MIB;

export interface Bound {
  readonly what: string;
  readonly countedBy: string;
  readonly bound: number;
  readonly unit: "bytes" | "items" | "ms";
  /** What happens to the one that goes above it. */
  readonly refusal: string;
  readonly freedBy: string;
}

export const RELAY_TABLE = [
  {
    what: "a frame of a data line",
    countedBy: "relay, each frame",
    bound: MAX_DATA_FRAME_BYTES,
    unit: "bytes",
    refusal: `close ${closeCodes.badFrame}`,
    freedBy: "the end of its handling",
  },
  {
    what: "a part of a frame, and an event over HTTP",
    countedBy: "relay, each part",
    bound: MAX_PART_BYTES,
    unit: "bytes",
    refusal: `close ${closeCodes.badFrame}; over HTTP the body is left`,
    freedBy: "the window that it leaves",
  },
  {
    what: "output for jobs and leases that the tenant has not confirmed as this worker's",
    countedBy: "relay, over its streams",
    bound: UNCONFIRMED_BYTES,
    unit: "bytes",
    refusal: `close ${closeCodes.tooManyMessages}, and the output is dropped`,
    freedBy: "the tenant's answer: kept or dropped",
  },
  {
    what: "streams of a worker",
    countedBy: "relay",
    bound: MAX_STREAMS,
    unit: "items",
    refusal: "the oldest that nobody reads is dropped (410 stream_gone to a late reader)",
    freedBy: "15 s after its end",
  },
  {
    what: "the last output of a stream, for late readers",
    countedBy: "stream",
    bound: WINDOW_BYTES,
    unit: "bytes",
    refusal: "the oldest output leaves (410 stream_gone to a late reader)",
    freedBy: "15 s after its end",
  },
  {
    what: "second readers of a stream",
    countedBy: "relay",
    bound: MAX_READERS_OF_A_STREAM,
    unit: "items",
    refusal: "429 too_many_readers",
    freedBy: "a reader that leaves; the end of the stream",
  },
  {
    what: "output that a reader leaves unread",
    countedBy: "reader; the bytes are shared by all readers of a stream",
    bound: WINDOW_BYTES,
    unit: "bytes",
    refusal: "the reader is cut (slow_reader), and a request's job is cancelled",
    freedBy: "reading",
  },
  {
    what: "windows and unread output of a relay",
    countedBy: "relay, with each part",
    bound: RELAY_BYTES,
    unit: "bytes",
    refusal: "windows are emptied, the oldest stream first; then the readers furthest behind are cut (slow_reader)",
    freedBy: "the end of streams; reading",
  },
  {
    what: "the same of all relays of a process",
    countedBy: "process",
    bound: PROCESS_BYTES,
    unit: "bytes",
    refusal: "as for one relay, whose bound is an equal share of this",
    freedBy: "the end of streams; reading",
  },
] as const satisfies readonly Bound[];
