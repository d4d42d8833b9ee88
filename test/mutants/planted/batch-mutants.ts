// Defects in what becomes of a batch's lines.

import { type Mutant, mutant } from "./mutant.ts";

export const BATCH_MUTANTS: readonly Mutant[] = [
  mutant(
    "lines without an answer stand in no file of a batch that was stopped",
    "durable-objects/files/batch-lines.ts",
    "WHERE batch = ? AND state IS NULL LIMIT ?",
    "WHERE batch = ? AND state IS NULL AND 0 LIMIT ?",
  ),
  mutant(
    "a batch whose file did not answer is not asked about again",
    "durable-objects/sweep/batch-look.ts",
    "attend(turn, batch);\n    turn.effects.batches.add(batch.id);",
    "attend(turn, batch);",
  ),
  mutant(
    "a batch whose files are written does not end",
    "durable-objects/sweep/batch-steps.ts",
    "conclude(turn, closeBatch(",
    "void (closeBatch(",
  ),
  mutant(
    "a batch's lines are placed by what was open before the first of them",
    "durable-objects/placing/place-job.ts",
    "isFirst ? chooseFor(turn, job, policy) : null;",
    "isFirst ? chooseFor(turn, job, policy ?? (Object(reasons).policy ??= routePolicy(turn))) : null;",
  ),
];
