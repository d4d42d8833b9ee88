// What tenants can make grow of secrets (`domain/words/growth.ts`).

import type { GrowthRow } from "../../../domain/words/growth.ts";
import { SECRET_CACHE_MAX_ENTRIES } from "./connector.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "secrets that were read a moment ago",
    holds: ["src/catalog/vault/connector.ts#entries"],
    grownBy: "provider",
    countedBy: "src/catalog/vault/connector.ts",
    bound: SECRET_CACHE_MAX_ENTRIES,
    unit: "entries",
    of: "process",
    atTheBound: { drops: "the oldest: it is read again" },
    freedBy: "a minute",
    provenBy: ["test/catalog/vault-connector.test.ts", "keeps 256 secrets"],
  },
];
