// The next runs of a schedule, in its time zone and, if different, in the reader's.

import { aheadIn, bothZones, dateTime, readerZone, relative } from "../format.ts";
import { now } from "../state/clock.ts";

export const NextRuns = ({ runs, timezone }: { runs: readonly string[]; timezone: string }) => {
  const isForeign = timezone !== readerZone();
  if (runs.length === 0) return <p class="dim">It will not run again.</p>;
  return (
    <ol class="next-runs">
      {runs.map((run) => {
        const at = Date.parse(run);
        return (
          <li key={run}>
            <span class="stack">
              <time dateTime={run} title={bothZones(at)}>
                {zonedOrLocal(at, timezone)}
              </time>
              {isForeign && <span class="dim">{dateTime(at)} here</span>}
            </span>
            <span class="dim">{relative(at, now.value)}</span>
          </li>
        );
      })}
    </ol>
  );
};

/** A zone that this browser does not know is shown in the reader's zone. */
const zonedOrLocal = (at: number, timezone: string): string => {
  try {
    return dateTime(at, aheadIn(timezone, at));
  } catch {
    return dateTime(at);
  }
};
