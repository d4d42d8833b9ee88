// Defects of the journal: in what is written of a job, when its rows may be deleted, and what a crash or rollback
// leaves.

import { type Mutant, mutant } from "./mutant.ts";

export const JOURNAL_MUTANTS: readonly Mutant[] = [
  mutant(
    "a row of the journal goes while a job that began in it is there",
    "durable-objects/store/journal.ts",
    "if (kept.firstSeq > seq) return;",
    "if (kept.changedSeq > seq) continue;",
  ),
  mutant(
    "an ended job leaves the table while a row is kept that names it",
    "durable-objects/store/outbox.ts",
    "Math.min(drained(), (scalar(",
    "Math.max(drained(), (scalar(",
  ),
  mutant(
    "waking forgets the journal",
    "durable-objects/store/journal.ts",
    "WHERE outbox.jobs IS NOT NULL AND",
    "WHERE outbox.jobs IS NULL AND",
  ),
  mutant(
    "the journal survives a turn that broke",
    "durable-objects/store/journal.ts",
    "  forget(): void {\n    this.#isRead = false;",
    "  forget(): void {\n    void this.#isRead;",
  ),
  mutant(
    "a job that went to the tables is read from the journal again",
    "durable-objects/store/journal.ts",
    "AND NOT EXISTS (SELECT 1 FROM jobs",
    "AND EXISTS (SELECT 1 FROM settings) OR EXISTS (SELECT 1 FROM jobs",
  ),
  mutant(
    "what changed within a row of the journal is not written",
    "durable-objects/store/journal.ts",
    "this.#mustBeWritten(kept, seq);\n    return kept.text.length;\n  }\n\n  keepPayload",
    "return kept.text.length;\n  }\n\n  keepPayload",
  ),
  mutant(
    "a row has what changed since the last change, not since the last row",
    "durable-objects/store/journal.ts",
    "    kept.job = change.job;\n",
    "    kept.written &&= kept.job;\n    kept.job = change.job;\n",
    ["test/store/journal.workers.test.ts"],
  ),
  mutant(
    "waking takes the fields that changed for the whole job",
    "durable-objects/store/journal.ts",
    "change.isPart && known !== undefined ? { ...known.job, ...change.job } : currentJob(change.job);",
    "currentJob(change.job);",
    ["test/store/journal.workers.test.ts"],
  ),
  mutant(
    "a job moves to the tables without its texts",
    "durable-objects/store/jobs/jobs.ts",
    "    payloads.moveOut(kept);\n",
    "",
  ),
  mutant(
    "a job that ended in the journal comes back without its texts",
    "durable-objects/store/jobs/jobs.ts",
    "if (ended !== undefined) payloads.moveOut(ended);",
    "void ended;",
  ),
  mutant(
    "a job's end leaves the journal before history has it",
    "durable-objects/store/jobs/jobs.ts",
    "const hasEnded = isFinal(kept.job.status) && kept.changedSeq <= drainedSeq;",
    "const hasEnded = isFinal(kept.job.status);",
  ),
  mutant(
    "a job that ends leaves its long texts behind",
    "durable-objects/store/jobs/jobs.ts",
    "const isOver = hasEnded && !kept.hasRows;",
    "const isOver = hasEnded;",
  ),
  mutant(
    "a job that moves to the tables wakes nobody",
    "durable-objects/history/history-writer.ts",
    "if (store.jobs.settle(seq, nowAt)) wake.note(store.jobs.nextDueAt());",
    "store.jobs.settle(seq, nowAt);",
  ),
  mutant(
    "a row that history has goes although an open job began in it",
    "durable-objects/store/outbox.ts",
    "Math.min(seq, neededSeq - 1)",
    "Math.min(seq, neededSeq + 1e9)",
  ),
  mutant(
    "waking brings back a job that has ended and that history has",
    "durable-objects/store/journal.ts",
    "if (isFinal(kept.job.status) && kept.changedSeq <= drainedSeq) this.remove(kept);",
    "if (isFinal(kept.job.status) && kept.changedSeq < 0 * drainedSeq) this.remove(kept);",
    ["test/store/journal.workers.test.ts"],
  ),
  mutant(
    "waking brings back a job that went to the tables by its later rows",
    "durable-objects/store/journal.ts",
    "if (known === undefined && !change.begins) return;",
    "if (known === undefined && change.begins === null) return;",
    ["test/store/journal.workers.test.ts"],
  ),
  mutant(
    "no alarm comes for a job that stays too long in the journal",
    "durable-objects/history/history-writer.ts",
    "wake.note(store.jobs.nextMoveAt(seq));",
    "void store.jobs.nextMoveAt(seq);",
  ),
  mutant(
    "the journal holds changes without end while history is away",
    "durable-objects/store/journal.ts",
    "(this.#writtenChars - readFrom) / room.readChars",
    "(0 * readFrom) / room.readChars",
    ["test/store/journal-bounds.workers.test.ts"],
  ),
  mutant(
    "waking reads only the first rows of the journal",
    "durable-objects/store/journal.ts",
    "seq += ROWS_A_READ) this.#readRows(seq)",
    "seq += 1e9) this.#readRows(seq)",
    ["test/store/journal-bounds.workers.test.ts"],
  ),
];
