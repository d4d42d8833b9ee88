// What is refused for the same reason, together: a fleet repeats itself. Reasons that differ only in their times are one.
// The most frequent reason comes first.

import { dateTime, instantsIn, replaceInstants } from "../format.ts";

interface Refused {
  readonly reasons?: readonly string[];
}

/** What each of several is refused for: said once, it makes fewer kinds of the rest. */
export const sharedReasons = ([first, ...others]: readonly Refused[]): readonly string[] =>
  others.length === 0
    ? []
    : (first?.reasons ?? []).filter((reason) => others.every(({ reasons }) => reasons?.includes(reason)));

const reasonOf = ({ reasons }: Refused): string => (reasons ?? []).join("; ");

/** Each time as the span of those in its place. */
const inWords = (group: readonly Refused[]): string => {
  const all = group.map((one) => instantsIn(reasonOf(one)));
  let place = 0;
  return replaceInstants(reasonOf(group[0] ?? {}), () => {
    const times = all.map((one) => one[place] ?? 0);
    place += 1;
    const [first, last] = [Math.min(...times), Math.max(...times)];
    return first === last ? dateTime(first) : `${dateTime(first)} to ${dateTime(last)}`;
  });
};

export const byReason = <One extends Refused>(refused: readonly One[]): [reason: string, group: One[]][] =>
  [...Map.groupBy(refused, (one) => replaceInstants(reasonOf(one), () => "")).values()]
    .map((group): [string, One[]] => [inWords(group), group])
    .sort(([, one], [, other]) => other.length - one.length);
