// What a worker's streams and their readers can make grow (`domain/words/growth.ts`).

import { MAX_DATA_FRAME_BYTES, MAX_PART_BYTES, MAX_READERS_OF_A_STREAM } from "../../contract/data-line.ts";
import { LONGEST_HELD_BYTES } from "../../contract/text/whole-events.ts";
import { closeCodes } from "../../contract/words/values.ts";
import type { GrowthRow } from "../../domain/words/growth.ts";
import { MAX_LINES, MAX_STREAMS, PROCESS_BYTES, RELAY_BYTES, UNCONFIRMED_BYTES, WINDOW_BYTES } from "./relay-bounds.ts";

const LONG_TEST = "test/front-door/long-events.workers.test.ts";
const LINE_TEST = "test/front-door/data-line-bounds.workers.test.ts";
const MEMORY_TEST = "test/front-door/relay-memory.test.ts";
const RELAY = "durable-objects/relay/relay.ts";
const STREAMS = "durable-objects/relay/worker-streams.ts";
const STREAM = "durable-objects/relay/relayed-stream.ts";
const WINDOW = "durable-objects/relay/stream-window.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "a frame of a data line",
    holds: ["the message"],
    grownBy: "worker",
    countedBy: RELAY,
    bound: MAX_DATA_FRAME_BYTES,
    unit: "characters",
    of: "message",
    atTheBound: { closes: closeCodes.badFrame },
    freedBy: "the end of its handling",
    provenBy: [LINE_TEST, "that is too long closes the line"],
  },
  {
    what: "a part of a frame",
    holds: ["the message"],
    grownBy: "worker",
    countedBy: RELAY,
    bound: MAX_PART_BYTES,
    unit: "characters",
    of: "message",
    atTheBound: { closes: closeCodes.badFrame },
    freedBy: "the window that it leaves",
    provenBy: [LINE_TEST, "with a part that is too long closes the line"],
  },
  {
    what: "an event over HTTP",
    holds: ["durable-objects/relay/events-body.ts#events"],
    grownBy: "worker",
    countedBy: "contract/text/whole-events.ts",
    bound: LONGEST_HELD_BYTES,
    unit: "bytes",
    of: "stream",
    atTheBound: { drops: "nothing: it passes in pieces" },
    freedBy: "its end",
    provenBy: [LONG_TEST, "over HTTP"],
  },
  {
    what: "output for jobs and leases that the tenant has not confirmed as this worker's",
    holds: ["durable-objects/relay/unconfirmed-streams.ts#streams"],
    grownBy: "worker",
    countedBy: RELAY,
    bound: UNCONFIRMED_BYTES,
    unit: "characters",
    of: "worker",
    atTheBound: { closes: closeCodes.tooManyMessages },
    freedBy: "the tenant's answer: kept or dropped",
    provenBy: [LINE_TEST, "of jobs that it does not have closes the line"],
  },
  {
    what: "data lines of a tenant on a server",
    holds: ["the platform's sockets"],
    grownBy: "worker",
    countedBy: "durable-objects/relay/line-place.ts",
    bound: MAX_LINES,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "overloaded" },
    freedBy: "its worker, five minutes after the last stream; another line, if nothing is said on it",
    provenBy: ["test/front-door/line-place.test.ts", "is refused where something is said on all"],
  },
  {
    what: "streams of a worker",
    holds: [`${STREAMS}#streams`, `${RELAY}#streams`],
    grownBy: "worker",
    countedBy: STREAMS,
    bound: MAX_STREAMS,
    unit: "entries",
    of: "worker",
    atTheBound: { drops: "the oldest that nobody reads: a late reader gets 410 stream_gone" },
    freedBy: "15 s after its end",
    provenBy: [LINE_TEST, "keeps 4,096 streams of a worker"],
  },
  {
    what: "the last output of a stream, for late readers",
    holds: [
      `${WINDOW}#parts`,
      "durable-objects/relay/window-part.ts#forms",
      "durable-objects/relay/said-events.ts#endedFor",
    ],
    grownBy: "worker",
    countedBy: WINDOW,
    bound: WINDOW_BYTES,
    unit: "bytes",
    of: "stream",
    atTheBound: { drops: "the oldest output: a late reader gets 410 stream_gone" },
    freedBy: "15 s after its end",
    provenBy: [MEMORY_TEST, "still knows that a stream has said its end"],
  },
  {
    what: "second readers of a stream",
    holds: [`${STREAM}#readers`],
    grownBy: "reader",
    countedBy: STREAM,
    bound: MAX_READERS_OF_A_STREAM,
    unit: "entries",
    of: "stream",
    atTheBound: { refuses: "too_many_readers" },
    freedBy: "a reader that leaves; the end of the stream",
    provenBy: ["test/front-door/stream-limits.workers.test.ts", "are sixteen together, whatever keys they read with"],
  },
  {
    what: "output that a reader leaves unread",
    holds: ["durable-objects/relay/stream-reader.ts#unread", "durable-objects/relay/reading-line.ts#readers"],
    grownBy: "reader",
    countedBy: "durable-objects/relay/stream-reader.ts",
    bound: WINDOW_BYTES,
    unit: "bytes",
    of: "stream",
    atTheBound: { drops: "the reader (`slow_reader`), and a request's job with it" },
    freedBy: "reading",
    provenBy: [MEMORY_TEST, "does not count as unread in a burst"],
  },
  {
    what: "windows and unread output of a worker's streams",
    holds: [`${STREAMS}#streams`],
    grownBy: "worker",
    countedBy: "durable-objects/relay/held-output.ts",
    bound: RELAY_BYTES,
    unit: "bytes",
    of: "worker",
    atTheBound: { drops: "windows, the oldest stream's first; then the readers furthest behind" },
    freedBy: "the end of streams; reading",
    provenBy: [MEMORY_TEST, "empties windows first"],
  },
  {
    what: "windows and unread output of all workers' streams",
    holds: ["durable-objects/relay/held-output.ts#holders"],
    grownBy: "worker",
    countedBy: "durable-objects/relay/held-output.ts",
    bound: PROCESS_BYTES,
    unit: "bytes",
    of: "process",
    atTheBound: { drops: "as for one worker, whose bound is an equal share of this, or half of what the others leave" },
    freedBy: "the end of streams; reading",
    provenBy: [MEMORY_TEST, "shares the process's bound with the others equally"],
  },
];
