// Small defects where requests, lines and streams pass through the edge. Each names the tests that must notice it.

import { type Mutant, mutant } from "./mutant.ts";

const PACE = ["test/self-host/edge/pace.test.ts"];
const SERVER = ["test/self-host/edge/edge-server.test.ts"];
const FAIR = ["test/self-host/edge/fair-turns.test.ts"];
const BEGIN = ["test/front-door/begin-stream.test.ts"];
const WHOLE = ["test/contract/whole-events.test.ts"];
const ARRIVALS = ["test/self-host/edge/arrivals.test.ts"];

export const EDGE_MUTANTS: readonly Mutant[] = [
  mutant(
    "a worker's line may send any number of bytes a second",
    "self-host/edge/frames/pace.ts",
    "pace.lines.take(next.bytes.byteLength, nowAt);",
    "pace.lines.take(0, nowAt);",
    PACE,
  ),
  mutant(
    "a worker's line may send any number of messages a second",
    "self-host/edge/frames/pace.ts",
    "pace.messages.take(next.messages, nowAt);",
    "pace.messages.take(0, nowAt);",
    PACE,
  ),
  mutant(
    "a message of a line begins in the middle of another's",
    "self-host/edge/frames/pace.ts",
    "pace.waiting.findLastIndex((other) => other.place <= place) + 1",
    "pace.waiting.length",
    PACE,
  ),
  mutant(
    "what readers that come back are sent stops their tenant's lines for long",
    "self-host/edge/frames/pace.ts",
    "this.#level = Math.max(this.#level - bytes, -(this.#bytesASecond * LONGEST_DEBT_MS) / 1000);",
    "this.#level -= bytes;",
    PACE,
  ),
  mutant(
    "a pace is forgotten while a line is open again",
    "self-host/edge/frames/pace.ts",
    "    clearTimeout(pace.forgetting);\n",
    "",
    PACE,
  ),
  mutant(
    "what comes at once of a line passes at once, however many messages it has",
    "self-host/edge/frames/pace.ts",
    "messages === MESSAGES_A_PIECE",
    "messages > 1e9",
    PACE,
  ),
  mutant(
    "a line that closed goes on to take its tenant's share",
    "self-host/edge/frames/pace.ts",
    "if (line.paced.destroyed) return;",
    "",
    PACE,
  ),
  mutant(
    "a stranger begins as many requests in a turn as a key that is alone",
    "self-host/edge/turns/fair-turns.ts",
    "this.#latest.name === name && !this.isBesideOthers(name)",
    "!this.isBesideOthers(name)",
    SERVER,
  ),
  mutant(
    "who waits too long for a turn is never refused",
    "self-host/edge/turns/fair-turns.ts",
    "queue.waiting[0].untilAt <= nowAt)",
    "queue.waiting[0].untilAt <= nowAt - 1e9)",
    FAIR,
  ),
  mutant(
    "a failure that overtook its stream hides what was said before",
    "src/front-door/answer/begin-stream.ts",
    "isFinal(status) && (hasFirstToken",
    'status === "completed" && (hasFirstToken',
    BEGIN,
  ),
  mutant(
    "the stream of an attempt that nobody takes stays open",
    "src/front-door/answer/begin-stream.ts",
    "    letGo();\n    job = now;\n",
    "    job = now;\n",
    BEGIN,
  ),
  mutant(
    "a job's start opens its stream again",
    "src/front-door/answer/begin-stream.ts",
    "if (!isSameStand(job, from)) return job;",
    "if (job !== from) return job;",
    BEGIN,
  ),
  mutant(
    "a client waits without end for a stream that comes late",
    "src/front-door/answer/begin-stream.ts",
    "await within(attached, lateMs)",
    "await attached",
    BEGIN,
  ),
  mutant(
    "events that end with CR LF are never whole",
    "contract/text/whole-events.ts",
    "(byte === LF && before === CR && bytes[at - 2] === LF)",
    "false",
    WHOLE,
  ),
  mutant(
    "an event of any length is held",
    "contract/text/whole-events.ts",
    "all.byteLength > LONGEST_HELD_BYTES ? all.byteLength : ",
    "",
    WHOLE,
  ),
  mutant(
    "the last words of a broken stream are made from its beginning",
    "contract/text/whole-events.ts",
    ".slice(-LAST_BYTES)",
    ".slice(0, LAST_BYTES)",
    WHOLE,
  ),
  mutant(
    "all that passed of a stream is kept for its last words",
    "contract/text/whole-events.ts",
    "this.#lastBytes - (this.#last[0]?.byteLength ?? 0) >= LAST_BYTES",
    "false",
    WHOLE,
  ),
  mutant(
    "a stranger has a turn for each key that it invents",
    "self-host/edge/turns/turn-owner.ts",
    "if (isCheckedToken(token)) return",
    'if (token !== "") return',
    SERVER,
  ),
  mutant(
    "whether the service is well waits behind strangers",
    "self-host/edge/turns/turn-owner.ts",
    "url === HEALTH_PATH ? url : addressOf()",
    "addressOf()",
    SERVER,
  ),
  mutant(
    "a connection that ended takes the turn of one that waits to be heard",
    "self-host/edge/turns/arrivals.ts",
    "silent.delete(socket) || held.delete(socket)",
    "silent.delete(socket)",
    ARRIVALS,
  ),
  mutant(
    "the mask of a frame counts as the next frame",
    "self-host/edge/frames/frame-walk.ts",
    "? MASK_BYTES : 0",
    "? 0 : 0",
    PACE,
  ),
];
