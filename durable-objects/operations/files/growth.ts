// What outsiders can make grow of files and batches (`domain/words/growth.ts`).

import { MAX_OPEN_BATCHES } from "../../../domain/batch/batch.ts";
import { LONGEST_WINDOW } from "../../../domain/batch/feeding.ts";
import { MAX_FILES } from "../../../domain/file/file.ts";
import type { GrowthRow } from "../../../domain/words/growth.ts";

const BATCHES_TEST = "test/batches/batches.workers.test.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "files, those on their way included",
    holds: ["table files"],
    grownBy: "key",
    countedBy: "durable-objects/operations/files/files.ts",
    bound: MAX_FILES,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "files_full" },
    freedBy: "DELETE, or a file's end; one that never arrived ends by itself",
    provenBy: ["test/domain/file/file.test.ts", "a bound together, in bytes and in number"],
  },
  {
    what: "batches that have not ended",
    holds: [
      ...["memory.batches.open", "memory.batches.ofBatch", "table batches"],
      "durable-objects/effects/batch-carrier.ts#running",
    ],
    grownBy: "key",
    countedBy: "durable-objects/operations/files/batches.ts",
    bound: MAX_OPEN_BATCHES,
    unit: "entries",
    of: "tenant",
    atTheBound: { refuses: "too_many_batches" },
    freedBy: "they end, at the latest with their window",
    provenBy: [BATCHES_TEST, "takes 100 batches at a time and no more, of one client 90"],
  },
  {
    what: "open lines of a model in a batch, and their answers on the way to its file",
    holds: ["table line_ends"],
    grownBy: "key",
    countedBy: "domain/batch/feeding.ts",
    bound: LONGEST_WINDOW,
    unit: "entries",
    of: "batch",
    atTheBound: { drops: "nothing: the other lines stay in the file" },
    freedBy: "the lines end, and the object of the file has their answers",
    provenBy: [BATCHES_TEST, "holds a window of its lines open, and the rest stays in the file"],
  },
];
