// A span of time, as flags.

import type { Flag } from "../verb.ts";

export const SINCE_UNTIL = {
  since: { takes: "time", says: "from this time on: RFC 3339, or a span back from now, such as 2h or 7d" },
  until: { takes: "time", says: "before this time" },
} as const satisfies Readonly<Record<string, Flag>>;
