// What outsiders can make grow in the caches of a tenant's tables (`domain/words/growth.ts`).

import type { GrowthRow } from "../../domain/words/growth.ts";
import { RECENT_JOBS } from "./jobs/job-rows.ts";
import { JOURNAL_ROOM } from "./journal.ts";
import { PLACES_KEPT } from "./places.ts";
import { RECENT_CHARS } from "./recent-rows.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "records that were read or written recently",
    holds: ["durable-objects/store/recent.ts#byId"],
    grownBy: "key",
    countedBy: "durable-objects/store/recent.ts",
    bound: RECENT_JOBS,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "the oldest: it is read from its row again" },
    freedBy: "the bound; a rollback",
    provenBy: ["test/tenant/memory-bounds.test.ts", "are as many as their table says"],
  },
  {
    what: "places in lists of the files and batches that were deleted last",
    holds: ["table left_places"],
    grownBy: "key",
    countedBy: "durable-objects/store/places.ts",
    bound: PLACES_KEPT,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "the oldest: a list does not go on behind it, 404" },
    freedBy: "the bound",
    provenBy: ["test/batches/anthropic.workers.test.ts", "goes on behind a batch that was deleted"],
  },
  {
    what: "rows of the outbox that were written a moment ago",
    holds: ["durable-objects/store/recent-rows.ts#rows"],
    grownBy: "key",
    countedBy: "durable-objects/store/recent-rows.ts",
    bound: RECENT_CHARS,
    unit: "characters",
    of: "tenant",
    atTheBound: { drops: "the next: it is read from the outbox" },
    freedBy: "history has them; a rollback",
    provenBy: ["test/store/store.workers.test.ts", "read on up to the first that is not"],
  },
  {
    what: "jobs that stand in the outbox alone",
    holds: [
      "durable-objects/store/journal.ts#jobs",
      "durable-objects/store/journal.ts#byWorker",
      "durable-objects/store/waiting-lines.ts#lines",
      "durable-objects/store/waiting-lines.ts#lanes",
      "durable-objects/store/journal.ts#unwritten",
    ],
    grownBy: "key",
    countedBy: "durable-objects/store/journal.ts",
    bound: JOURNAL_ROOM.jobs,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "nothing: the oldest go to the tables" },
    freedBy: "their end, or history has them",
    provenBy: ["test/store/journal-bounds.workers.test.ts", "past its bound the oldest go to the tables"],
  },
  {
    what: "texts of jobs that stand in the outbox alone",
    holds: ["durable-objects/store/journal.ts#jobs"],
    grownBy: "key",
    countedBy: "durable-objects/store/journal.ts",
    bound: JOURNAL_ROOM.chars,
    unit: "characters",
    of: "tenant",
    atTheBound: { drops: "nothing: the oldest go to the tables" },
    freedBy: "their end, or history has them",
    provenBy: ["test/store/journal-bounds.workers.test.ts", "prompts, inputs and results count against its bound"],
  },
  {
    what: "what waking reads of the outbox",
    holds: ["durable-objects/store/journal.ts#writtenChars"],
    grownBy: "worker",
    countedBy: "durable-objects/store/journal.ts",
    bound: JOURNAL_ROOM.readChars,
    unit: "characters",
    of: "tenant",
    atTheBound: { drops: "nothing: the oldest go to the tables" },
    freedBy: "history has them",
    provenBy: ["test/store/journal-bounds.workers.test.ts", "what waking reads is bounded while history is away"],
  },
];
