// What outsiders can make grow in the memory of a file's object (`domain/words/growth.ts`).

import type { GrowthRow } from "../../domain/words/growth.ts";
import { MAX_RUNNING } from "./running-digest.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "digests of a file's contents that are read in steps",
    holds: ["durable-objects/files/running-digest.ts#running"],
    grownBy: "key",
    countedBy: "durable-objects/files/running-digest.ts",
    bound: MAX_RUNNING,
    unit: "entries",
    of: "file",
    atTheBound: { drops: "the digest that was asked for longest ago: it begins again" },
    freedBy: "the object leaves memory",
    provenBy: ["test/files/running-digest.workers.test.ts", "begins again with what it has forgotten"],
  },
];
