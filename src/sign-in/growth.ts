// What tenants can make grow of identity providers (`domain/words/growth.ts`).

import type { GrowthRow } from "../../domain/words/growth.ts";
import { MAX_REMEMBERED } from "./remembered.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "what was learned of identity providers",
    holds: ["src/sign-in/remembered.ts#byAddress"],
    grownBy: "provider",
    countedBy: "src/sign-in/remembered.ts",
    bound: MAX_REMEMBERED,
    unit: "entries",
    of: "process",
    atTheBound: { drops: "all of it: each is learned again when it is needed" },
    freedBy: "the bound",
    provenBy: ["test/sign-in/remembered.test.ts", "of one provider more makes it forget the others"],
  },
];
