// What is refused for the same reason, together: a fleet repeats itself. The most frequent reason comes first.

import { withLocalTimes } from "../format.ts";

interface Refused {
  readonly reasons?: readonly string[];
}

export const byReason = <One extends Refused>(refused: readonly One[]): [reason: string, group: One[]][] =>
  [...Map.groupBy(refused, ({ reasons }) => withLocalTimes((reasons ?? []).join("; ")))].sort(
    ([, one], [, other]) => other.length - one.length,
  );
