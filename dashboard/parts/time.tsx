// An instant in relative words, with the full time in the reader's zone and in UTC as its title.

import { bothZones, clock, dateTime, relative } from "../format.ts";
import { now } from "../state/clock.ts";

type Style = "relative" | "clock" | "full";

const Relative = ({ at }: { at: number }) => <>{relative(at, now.value)}</>;

export const Time = ({ at, as = "relative" }: { at: string | null; as?: Style }) => {
  if (at === null) return <span class="dim">–</span>;
  const instant = Date.parse(at);
  return (
    <time dateTime={at} title={bothZones(instant)}>
      {as === "relative" ? <Relative at={instant} /> : as === "clock" ? clock(instant) : dateTime(instant)}
    </time>
  );
};
