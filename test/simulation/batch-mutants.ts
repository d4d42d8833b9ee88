// Defects in batches.

import { type Mutant, mutant } from "./mutant.ts";

export const BATCH_MUTANTS: readonly Mutant[] = [
  mutant(
    "a batch is closed while answers are on their way to its file",
    "durable-objects/operations/batch-steps.ts",
    "if (answers.length > 0) return",
    "if (answers.length > 0 && batch.ending === null) return",
  ),
  mutant(
    "lines are given out again, because the cursor stays",
    "durable-objects/operations/batch-steps.ts",
    "turn.putBatch(noteFed(batch, model, lines.length, { hash: last.hash, line: last.line }));",
    "turn.putBatch(noteFed(batch, model, lines.length, cursor ?? { hash: -1, line: 0 }));",
  ),
  mutant(
    "answers are forgotten before the file has them",
    "durable-objects/effects/batch-carrier.ts",
    "await file.recordLines(id, step.answers);",
    "await file.recordLines(id, step.answers).catch(() => undefined);",
  ),
];
