// Small defects where the simulation does not reach: in the worker, the edge in Node, the relay and the command line.
// Each names the tests that must notice it.

import { type Mutant, mutant } from "./mutant.ts";

const CONVERTED = ["test/worker/runtimes/convert-request.test.ts"];
const LOOP = ["test/worker/loop.test.ts"];
const HTTP_SESSION = ["test/worker/session/http-session.test.ts"];
const CONFIG = ["test/worker/config.test.ts"];
const RELAY = ["test/front-door/relay-memory.test.ts"];
const TABLE = ["test/tenant/sockets/line-socket-table.test.ts"];
const FAIR = ["test/self-host/edge/fair-turns.test.ts"];
const MOVING = ["test/tenant/moving/moving-steps.workers.test.ts", "test/tenant/moving/moving.workers.test.ts"];
const WEBHOOK = ["test/domain/webhook.test.ts"];

export const TESTED_MUTANTS: readonly Mutant[] = [
  mutant(
    "a Retry-After shortens the wait of a webhook",
    "domain/webhook.ts",
    "const waitMs = Math.max(delayMs * (1 + JITTER * random), askedMs);",
    "const waitMs = outcome.retryAfterMs === null ? delayMs * (1 + JITTER * random) : askedMs;",
    WEBHOOK,
  ),
  mutant(
    "an event that is split between two chunks is lost",
    "worker/apis/sse.ts",
    "this.#last = (this.#last + text).slice(-LONGEST_EVENT_END);",
    'this.#last = "";',
    ["test/contract/event-text.test.ts"],
  ),
  mutant(
    "events that left the window are counted in parts",
    "durable-objects/relay/stream-window.ts",
    "this.#dropped += oldest.eventCount;",
    "this.#dropped += 1;",
    RELAY,
  ),
  mutant(
    "a relay keeps all that its worker says",
    "durable-objects/relay/worker-streams.ts",
    "this.#cutSlow(stream, reader), boundFor(holder));",
    "this.#cutSlow(stream, reader), Number.POSITIVE_INFINITY);",
    RELAY,
  ),
  mutant(
    "the beginning of an answer that comes all at once is lost",
    "durable-objects/relay/relayed-stream.ts",
    "if (this.awaitedBy === 0) this.window.fit();",
    "this.window.fit();",
    RELAY,
  ),
  mutant(
    "a socket that ended stays in the table of its line",
    "durable-objects/sockets/line-sockets.ts",
    "    this.isOpen = false;\n    this.#table.delete(this);",
    "    this.isOpen = false;",
    TABLE,
  ),
  mutant(
    "calls wait for ever behind a message beside their group",
    "self-host/edge/call-group.ts",
    "if (this.#vital.length + this.#waiting.length > 0) void this.#run();\n    else this.#onIdle();",
    "this.#onIdle();",
    FAIR,
  ),
  mutant(
    "a group of calls has no bound in characters",
    "self-host/edge/call-group.ts",
    "(chars > maxChars || count === MAX_CALLS_A_GROUP)",
    "count === MAX_CALLS_A_GROUP",
    FAIR,
  ),
  mutant(
    "vital calls do not count in their group",
    "self-host/edge/call-group.ts",
    "let chars = before.reduce((sum, { text }) => sum + text.length, 0);",
    "let chars = 0;",
    FAIR,
  ),
  mutant(
    "a tenant that is alone leaves time to others",
    "self-host/edge/turns/fair-turns.ts",
    "const gapMs = isBeside ? queue.nextAt - nowAt : 0;",
    "const gapMs = queue.nextAt - nowAt;",
    FAIR,
  ),
  mutant(
    "a socket that left is read again",
    "self-host/edge/client-sockets.ts",
    "if (seat.socket !== null) this.#paused.delete(seat.socket);",
    "",
    ["test/self-host/edge/client-sockets.test.ts"],
  ),
  mutant(
    "a request that is refused its turn keeps its share",
    "src/http/admission.ts",
    "    share.release();\n    throw",
    "    throw",
    ["test/http/admission.test.ts"],
  ),
  mutant(
    "a report that is refused for the moment is dropped",
    "worker/loop.ts",
    "if (status === 429 || status >= 500) return;",
    "if (status >= 500) return;",
    LOOP,
  ),
  mutant(
    "a run that is being stopped takes no place",
    "worker/held-jobs.ts",
    "this.#in.waiting.size + this.runningCount",
    "this.#in.waiting.size + this.#in.running.size",
    LOOP,
  ),
  mutant(
    "a run that is being stopped lets the next begin",
    "worker/held-jobs.ts",
    "return this.#in.running.size + this.#in.stopping.size",
    "return this.#in.running.size",
    LOOP,
  ),
  mutant(
    "no claim follows a result",
    "worker/session/http-session.ts",
    "        if (isResult) this.#wakeClaim();\n",
    "",
    HTTP_SESSION,
  ),
  mutant(
    "a session that closes does not wait for its reports",
    "worker/session/http-session.ts",
    "void Promise.race([settled, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]).then(() => this.#finish(ending));",
    "void settled;\n    this.#finish(ending);",
    HTTP_SESSION,
  ),
  mutant(
    "a job takes the config of a read that began before it",
    "worker/config.ts",
    "next ??= underWay.then(begin);\n    return next;",
    "next ??= null;\n    return underWay;",
    CONFIG,
  ),
  mutant(
    "a text to stop at becomes its letters",
    "worker/runtimes/convert-request.ts",
    "Array.isArray(stop) ? stop : [stop]",
    "Array.isArray(stop) ? stop : [...stop]",
    CONVERTED,
  ),
  mutant(
    "of two answers that are asked for one comes",
    "worker/runtimes/convert-request.ts",
    '["n", (value) => value === 1]',
    '["n", (value) => typeof value === "number"]',
    CONVERTED,
  ),
  mutant(
    "a tool's schema is never strict",
    "worker/runtimes/convert-request.ts",
    '      ...(typeof strict === "boolean" ? { strict } : {}),\n',
    "",
    CONVERTED,
  ),
  mutant(
    "two tool calls have one index",
    "worker/runtimes/chat-chunks.ts",
    "const index = this.#calls.size;",
    "const index = 0;",
    CONVERTED,
  ),
  mutant(
    "what a tool is given goes to the first call",
    "worker/runtimes/chat-chunks.ts",
    "index: this.#calls.get(id) ?? 0",
    "index: 0",
    CONVERTED,
  ),
  mutant(
    "tool calls are merged whatever their index",
    "worker/apis/merge-delta.ts",
    "one.index === index",
    "one.index !== undefined",
    CONVERTED,
  ),
  mutant("a backup is not of one instant", "scripts/backup/copy-data.ts", '  database.exec("BEGIN");\n', "", [
    "test/self-host/backup-archive.test.ts",
  ]),
  mutant(
    "sockets stay open where a tenant has left",
    "durable-objects/moves/relocation.ts",
    '    sockets.endAll("moves");\n',
    "",
    MOVING,
  ),
  mutant(
    "a tenant that has arrived serves from a memory of its parts",
    "durable-objects/moves/relocation.ts",
    "    // Memory was built from the rows before and is out of date.\n    turns.forget();\n",
    "",
    MOVING,
  ),
  mutant(
    "the halt of before a move is not taken up again",
    "durable-objects/moves/moving.ts",
    "  takeBack(turn, earlier);\n",
    "",
    MOVING,
  ),
  mutant(
    "a backup is of no one instant",
    "scripts/backup/copy-data.ts",
    "return await whileFrozen(dir, () => openAll(dir));",
    "return openAll(dir);",
    ["test/self-host/one-instant.test.ts"],
  ),
  mutant(
    "a backup leaves out how many processes share the folder",
    "scripts/backup/copy-data.ts",
    "dir.writtenBy, dir.processCount]",
    "dir.writtenBy]",
    ["test/self-host/backup-archive.test.ts"],
  ),
  mutant(
    "a damaged archive is restored",
    "scripts/restore.ts",
    "    for (const name of databases) refuseDamaged(draft, name);\n",
    "",
    ["test/self-host/backup-archive.test.ts"],
  ),
  mutant(
    "the archive of a newer release is restored",
    "scripts/restore.ts",
    "    refuseNewerState(dataDirAt(draft));\n",
    "",
    ["test/self-host/backup-archive.test.ts"],
  ),
  mutant(
    "doctor takes a list that was cut for the whole",
    "cli/doctor.ts",
    "listed.length >= MAX_RUNTIME_MODELS",
    "listed.length > MAX_RUNTIME_MODELS",
    ["test/cli/doctor.test.ts"],
  ),
];
