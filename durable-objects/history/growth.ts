// What outsiders can make grow on the way to history (`domain/words/growth.ts`).

import type { GrowthRow } from "../../domain/words/growth.ts";
import { MAX_WAITING_JOBS } from "./span-exporter.ts";

export const GROWTH: readonly GrowthRow[] = [
  {
    what: "finished jobs whose spans wait for the collector",
    holds: ["durable-objects/history/span-exporter.ts#waiting"],
    grownBy: "key",
    countedBy: "durable-objects/history/span-exporter.ts",
    bound: MAX_WAITING_JOBS,
    unit: "entries",
    of: "tenant",
    atTheBound: { drops: "spans of further jobs: the log says so" },
    freedBy: "the collector's answer, or ten seconds without one",
    provenBy: ["test/observability/slow-collector.test.ts", "has one request of a tenant at a time"],
  },
];
