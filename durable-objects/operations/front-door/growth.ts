// What outsiders can make grow of what the front door stores (`domain/words/growth.ts`).

import { MAX_RESPONSES_BYTES } from "../../../domain/front-door/stored-response.ts";
import type { GrowthRow } from "../../../domain/words/growth.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "texts of stored responses, without those over 1 MiB, which are files",
    holds: ["table responses", "table response_sums", "table response_items"],
    grownBy: "key",
    countedBy: "durable-objects/operations/front-door/responses.ts",
    bound: MAX_RESPONSES_BYTES,
    unit: "characters",
    of: "tenant",
    atTheBound: { drops: "the oldest stored responses: they are 404, as after their days" },
    freedBy: "DELETE, or front_door.responses_days",
    provenBy: ["test/front-door/stored-responses.workers.test.ts", "the oldest make room"],
  },
];
