// Single conditions on which somebody's files, stored answers and batches depend: whose they are, until when, and how
// much there may be.

import { type Mutant, mutant } from "./mutant.ts";

const FILES = ["test/domain/file/file.test.ts"];
const LINK = ["test/files/link.test.ts"];
const ANSWERS = ["test/front-door/stored-responses.workers.test.ts"];
const FLOW = ["test/sign-in/flow.test.ts"];

export const ACCESS_MUTANTS: readonly Mutant[] = [
  mutant(
    "a deleted file leaves its bytes",
    "durable-objects/operations/files/files.ts",
    "if (file.view === undefined) turn.effects.droppedFiles.push(file.id);\n  else ",
    "if (file.view !== undefined) ",
  ),
  mutant(
    "a file that broke off keeps its room",
    "durable-objects/operations/files/files.ts",
    "announced.sha256 === null && announced.keyId === turn.caller.keyId) drop(turn, announced);",
    "announced.keyId === turn.caller.keyId) void 0;",
  ),
  mutant(
    "a file that arrives is kept as it was announced",
    "durable-objects/operations/files/files.ts",
    "{ ...announced, ...facts, createdAt",
    "{ ...announced, ...facts, bytes: announced.bytes, createdAt",
  ),
  mutant(
    "a file that is gone still counts",
    "durable-objects/store/files.ts",
    "    count(sql, file.owner, -1, -file.bytes);\n",
    "",
  ),
  mutant(
    "a small file that ends takes its neighbours along",
    "durable-objects/files/shelf.ts",
    "DELETE FROM shelved WHERE expires_at <= ?",
    "DELETE FROM shelved WHERE ? > 0",
    ["test/files/shelves.workers.test.ts"],
  ),
  mutant(
    "a stored answer that is deleted still counts",
    "durable-objects/store/responses.ts",
    "      count(-chars);\n",
    "",
  ),
  mutant(
    "a stored answer never ends",
    "durable-objects/turn/turn.ts",
    'if (job.api === "responses" && job.batch === null)',
    'if (job.api === "responses" && job.batch === null && job.status === "completed")',
  ),
  mutant(
    "a batch is deleted while it runs",
    "durable-objects/operations/files/batches.ts",
    'if (!isEnded(found.value)) return err({ code: "batch_state", id, status: found.value.status, command: "delete" });',
    "",
  ),
  mutant(
    "the files of a tenant have no bound together",
    "domain/file/file.ts",
    "room.heldBytes + bytes > room.limitBytes",
    "bytes > room.limitBytes",
    FILES,
  ),
  mutant(
    "a client sees the files of every key",
    "domain/file/file.ts",
    "client: keyId !== null && file.ownerKeyId === keyId,",
    "client: keyId !== null,",
  ),
  mutant(
    "a file is read past its end",
    "domain/file/file.ts",
    "file.sha256 !== null && file.expiresAt > nowAt",
    "file.sha256 !== null",
  ),
  mutant(
    "a link to a file never ends",
    "durable-objects/files/link.ts",
    " || untilAt <= nowAt) return null;",
    ") return null;",
    LINK,
  ),
  mutant(
    "any key finishes another's file",
    "durable-objects/operations/files/files.ts",
    "announced === null || announced.keyId !== turn.caller.keyId",
    "announced === null",
  ),
  mutant(
    "any key goes on with another's upload of a file",
    "durable-objects/operations/files/files.ts",
    "    record.keyId !== turn.caller.keyId ||\n",
    "",
  ),
  mutant(
    "a client reads the stored answer of another key",
    "durable-objects/operations/front-door/responses.ts",
    ' && (role !== "client" || found.keyId === keyId);',
    ";",
    ANSWERS,
  ),
  mutant(
    "a stored answer is read past its end",
    "durable-objects/operations/front-door/responses.ts",
    "found !== null && found.expiresAt > turn.nowAt &&",
    "found !== null &&",
    ANSWERS,
  ),
  mutant(
    "a sign-in that was begun yesterday is finished",
    "src/sign-in/flow.ts",
    "flow !== null && Math.abs(Date.now() - flow.begunAt) < FLOW_SECONDS * 1000",
    "flow !== null",
    FLOW,
  ),
  mutant(
    "a key is fetched with another program's secret after a sign-in",
    "durable-objects/operations/access/key-grants.ts",
    " && isSameDigest(grant.challenge, challenge);",
    ' && challenge !== "";',
  ),
];
