// A schedule at a glance, of a list with its runs: its last ten runs as dots, missed and skipped runs, and its next 24
// hours as a strip.

import type { ScheduleResource, ScheduleRunResource } from "../../contract/schedule.ts";
import { DAY_MS, MAX_PREVIEW } from "../../contract/words/values.ts";
import { dateTime, plural } from "../format.ts";
import { serverNow } from "../state/clock.ts";

export const SHOWN_RUNS = 10;
/** The strip and one run on it, in its own units. */
const STRIP = 240;
const RUN = 2;

type Fate = "done" | "open" | "skipped" | "failed";

const fateOf = ({ outcome, job_status }: ScheduleRunResource): Fate => {
  if (outcome === "skipped") return "skipped";
  if (outcome === "failed" || job_status === "failed" || job_status === "cancelled") return "failed";
  return job_status === "completed" ? "done" : "open";
};

const Dot = ({ run, at }: { run: ScheduleRunResource; at: number }) => {
  const fate = fateOf(run);
  const x = at * 14 + 7;
  const title = <title>{`${dateTime(Date.parse(run.scheduled_for))}: ${fate}`}</title>;
  if (fate === "failed")
    return (
      <rect class="dot-failed" x={x - 4} y="3" width="8" height="8">
        {title}
      </rect>
    );
  if (fate === "skipped")
    return (
      <path class="dot-skipped" d={`M${x} 2.500l5 9h-10z`}>
        {title}
      </path>
    );
  return (
    <circle class={`dot-${fate}`} cx={x} cy="7" r="4">
      {title}
    </circle>
  );
};

const inWords = (runs: readonly ScheduleRunResource[]): string => {
  const counts = new Map<Fate, number>();
  for (const run of runs) counts.set(fateOf(run), (counts.get(fateOf(run)) ?? 0) + 1);
  return [...counts].map(([fate, many]) => `${many} ${fate}`).join(", ");
};

export const ScheduleRecord = ({ schedule: { last_runs: newest = [] } }: { schedule: ScheduleResource }) => {
  if (newest.length === 0) return <span class="dim">not yet</span>;
  const runs = [...newest].reverse();
  const missed = runs.reduce((sum, run) => sum + run.missed, 0);
  const skipped = runs.filter(({ outcome }) => outcome === "skipped").length;
  return (
    <span class="stack">
      <svg class="dots" viewBox={`0 0 ${SHOWN_RUNS * 14} 14`} role="img" aria-label={`Last runs: ${inWords(runs)}`}>
        {runs.map((run, at) => (
          <Dot key={run.scheduled_for + run.ran_at} run={run} at={at} />
        ))}
      </svg>
      {missed > 0 && <span class="row-note tone-stop">{plural(missed, "run")} missed</span>}
      {skipped > 0 && <span class="row-note tone-caution">{skipped} skipped</span>}
    </span>
  );
};

export const NextDay = ({ schedule: { status, next_runs: next = [] } }: { schedule: ScheduleResource }) => {
  if (status !== "active") return <span class="dim">paused</span>;
  const from = serverNow();
  const all = next.map((run) => Date.parse(run));
  const runs = all.filter((at) => at - from < DAY_MS);
  const last = runs.at(-1);
  // There are more runs than the preview has; nothing is known beyond its last one.
  const isMore = all.length === MAX_PREVIEW && runs.length === all.length && last !== undefined;
  const xOf = (at: number): number => Math.max(0, ((at - from) / DAY_MS) * (STRIP - RUN));
  const says = isMore ? `${MAX_PREVIEW} runs and more` : plural(runs.length, "run");
  return (
    <span class="stack">
      <svg
        class="next-day"
        viewBox={`0 0 ${STRIP} 14`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Next 24 hours: ${says}`}
      >
        <rect class="next-day-line" x="0" y="6" width={STRIP} height="2" />
        {isMore && <rect class="next-day-more" x={xOf(last)} y="3" width={STRIP - xOf(last)} height="8" />}
        {runs.map((at) => (
          <rect key={at} class="next-day-run" x={xOf(at)} y="1" width={RUN} height="12">
            <title>{dateTime(at)}</title>
          </rect>
        ))}
      </svg>
      {isMore && <span class="row-note dim">more than {MAX_PREVIEW} runs</span>}
    </span>
  );
};
