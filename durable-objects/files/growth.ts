// What outsiders can make grow of the objects with files (`domain/words/growth.ts`). What they store is counted with all
// that a tenant stores (`operations/growth.ts`).

import type { GrowthRow } from "../../domain/words/growth.ts";
import { SHELVES } from "../object-name.ts";
import { ROW_BYTES } from "./rows.ts";
import { MAX_RUNNING } from "./running-digest.ts";

const SHELVES_TEST = "test/files/shelves.workers.test.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "objects with a tenant's small files",
    holds: ["folder objects/signalbox-StoredFile"],
    grownBy: "key",
    countedBy: "durable-objects/object-name.ts",
    bound: SHELVES,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "nothing: more files share them" },
    freedBy: "the end of the last file in one",
    provenBy: [SHELVES_TEST, "objects, and come back"],
  },
  {
    what: "a file on its way, until it is known to be no small one",
    holds: ["the message"],
    grownBy: "request",
    countedBy: "src/files/reception.ts",
    bound: ROW_BYTES,
    unit: "bytes",
    of: "message",
    atTheBound: { drops: "nothing: it streams on to an object of its own" },
    freedBy: "the end of the request",
    provenBy: [SHELVES_TEST, "below a row's size"],
  },
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
