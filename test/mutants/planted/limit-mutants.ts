// Defects in what bounds a text, a row, a storage and an object's life.

import { type Mutant, mutant } from "./mutant.ts";

export const LIMIT_MUTANTS: readonly Mutant[] = [
  mutant(
    "an object that was replaced answers from its memory",
    "durable-objects/turn/turns.ts",
    "this.#storage.transactionSync(() => {",
    "(turns.length === 1 ? (work: () => void) => work() : this.#storage.transactionSync.bind(this.#storage))(() => {",
  ),
  mutant(
    "a text twice as long as the platform takes goes into one list",
    "durable-objects/history/statements.ts",
    "STATEMENT_ROOM.chars / 2;",
    "STATEMENT_ROOM.chars * 4;",
  ),
  mutant(
    "the rows of one statement have no bound",
    "durable-objects/history/statements.ts",
    "if (chars + text.length > STATEMENT_ROOM.chars) close();",
    "if (text.length > STATEMENT_ROOM.chars) close();",
  ),
  mutant(
    "an outbox row is never full",
    "durable-objects/turn/outbox-writer.ts",
    "last.chars < ROW_ROOM.chars && last.recordChars < ROW_ROOM.recordChars",
    "last.chars < Number.POSITIVE_INFINITY",
  ),
  mutant(
    "a full storage takes new jobs",
    "durable-objects/placing/room.ts",
    "sizesOf(turn).bytes <= turn.memory.storage.bounds.liveBytes",
    "sizesOf(turn).bytes <= 2 * turn.memory.storage.bounds.liveBytes",
  ),
  mutant(
    "a storage that had room once has it for ever",
    "durable-objects/placing/room.ts",
    "if (turn.nowAt - sizes.readAt >= SIZE_READ_EVERY_MS) {",
    "if (sizes.bytes === 0) {",
  ),
  mutant(
    "a frame of any length is read",
    "durable-objects/sockets/socket-intake.ts",
    "frame.length > MAX_FRAME_BYTES)",
    "frame.length > 2 * MAX_FRAME_BYTES)",
  ),
  mutant(
    "a worker may offer a list of any length",
    "durable-objects/operations/fleet/presence.ts",
    "if (bytes > MAX_OFFER_BYTES)",
    "if (bytes > 4 * MAX_OFFER_BYTES)",
  ),
  mutant(
    "all that one key asks at once begins in one turn of Node",
    "self-host/edge/turns/tick-turns.ts",
    "return taken === 0 || taken + size",
    "return taken >= 0 || taken + size",
    ["test/self-host/edge/tick-turns.test.ts"],
  ),
  mutant(
    "all connections that a key closes at once end in one turn of Node",
    "self-host/edge/turns/departures.ts",
    "if (owned.ended === this.#atOnce) hold(owned);",
    "",
    ["test/self-host/edge/departures.test.ts"],
  ),
  mutant(
    "a connection that something else does not read is read again with its owner's",
    "self-host/edge/turns/departures.ts",
    "if (socket.isPaused()) continue;",
    "",
    ["test/self-host/edge/departures.test.ts"],
  ),
  mutant(
    "each reader that leaves is told to its relay alone",
    "self-host/edge/read-streams.ts",
    "setImmediate(() => this.#tell());",
    "this.#tell();",
    ["test/self-host/edge/read-streams.test.ts"],
  ),
  mutant(
    "what readers are sent does not slow their tenant's data lines",
    "self-host/edge/frames/pace.ts",
    ", pace.readers.take(0, fromAt)]",
    "]",
    ["test/self-host/edge/pace.test.ts"],
  ),
  mutant(
    "messages of a data line cost no more than their bytes",
    "self-host/edge/frames/pace.ts",
    "      pace.messages.take(next.messages, nowAt);\n",
    "",
    ["test/self-host/edge/pace.test.ts"],
  ),
  mutant(
    "messages of many data lines all begin before one of them ends",
    "self-host/edge/frames/pace.ts",
    "findLastIndex((other) => other.place <= place)",
    "findLastIndex(() => true)",
    ["test/self-host/edge/pace.test.ts"],
  ),
  mutant("a data line may be compressed", "self-host/edge/pass-on.ts", '  "sec-websocket-extensions",\n', "", [
    "test/self-host/edge/pass-on.test.ts",
  ]),
  mutant(
    "a reader is sent more than the edge takes",
    "durable-objects/relay/reading-line.ts",
    "if (this.#awayBytes >= MAX_AWAY_BYTES) break;",
    "",
    ["test/self-host/edge/read-streams.test.ts"],
  ),
  mutant(
    "readers of a stream have no bound together, only those of one key",
    "durable-objects/relay/worker-streams.ts",
    "if (asked.wishes.isNumbered && stream.isFull) return TOO_MANY_REQUESTS;",
    "",
    ["test/front-door/stream-limits.workers.test.ts"],
  ),
  mutant(
    "an answer that breaks off may end in half an event",
    "self-host/edge/read-stream.ts",
    "this.#events?.take(bytes) ?? bytes",
    "bytes",
    ["test/self-host/edge/read-streams.test.ts"],
  ),
  mutant(
    "deployed, an answer that breaks off may end in half an event",
    "src/front-door/answer/last-words.ts",
    "pass(events.take(chunk), controller)",
    "pass(chunk, controller)",
    ["test/front-door/ended-streams.workers.test.ts"],
  ),
];
