// A job's attempts: a bar each, from queue over assigned to running, on one scale, and a comparison of two.

import { useState } from "preact/hooks";
import type { AttemptResource } from "../../contract/insight.ts";
import type { JobResource } from "../../contract/job.ts";
import { duration, plural } from "../format.ts";
import { Lamp } from "../parts/lamp.tsx";
import { now } from "../state/clock.ts";
import { AttemptBar, PhaseLegend } from "./attempt-bar.tsx";
import { AttemptComparison } from "./attempt-comparison.tsx";
import { costOf, ErrorLine, modelOf, outcomeOf, WorkerLink } from "./attempt-facts.tsx";
import { firstTokenMs, inWords, type Timed, timed } from "./attempt-spans.ts";

/** Earlier attempts are collapsed. */
const MAX_SHOWN = 12;

const Row = ({ one: { attempt, number, spans }, from, to }: { one: Timed; from: number; to: number }) => {
  const { says, aspect } = outcomeOf(attempt);
  const token = firstTokenMs(attempt);
  return (
    <li class="attempt">
      <p class="attempt-head">
        <Lamp aspect={aspect} isLit={attempt.outcome === null} />
        <strong>Attempt {number}</strong>
        <span>{says}</span>
        <WorkerLink worker={attempt.worker} />
        <span class="dim">{modelOf(attempt)}</span>
        <span class="attempt-cost num">{costOf(attempt)}</span>
      </p>
      <AttemptBar spans={spans} from={from} to={to} />
      <p class="attempt-says dim num">
        {inWords(spans)}
        {token !== null && `, first token after ${duration(token)}`}
      </p>
      <ErrorLine attempt={attempt} />
    </li>
  );
};

const Waiting = ({ job, nowAt }: { job: JobResource; nowAt: number }) => {
  const from = Date.parse(job.created_at);
  return <AttemptBar spans={[{ phase: "queue", from, to: nowAt }]} from={from} to={nowAt} />;
};

const titleOf = (job: JobResource, attempts: readonly AttemptResource[]): string => {
  if (attempts.length > 0) return plural(attempts.length, "attempt");
  return job.finished_at === null ? "Not assigned yet" : "Never assigned";
};

export const Attempts = ({ job, attempts }: { job: JobResource; attempts: readonly AttemptResource[] }) => {
  const [isComparing, setComparing] = useState(false);
  // Updates every second only while the job is open.
  const nowAt = job.finished_at === null ? now.value : Date.parse(job.finished_at);
  const all = timed(job, attempts, nowAt);
  const shown = all.slice(-MAX_SHOWN);
  const from = shown[0]?.spans[0]?.from ?? Date.parse(job.created_at);
  const to = Math.max(...shown.map(({ spans }) => spans.at(-1)?.to ?? from), from + 1);
  return (
    <section class="panel" aria-label="Attempts">
      <header class="panel-head">
        <h2>{titleOf(job, attempts)}</h2>
        <span class="actions">
          <PhaseLegend />
          {all.length > 1 && (
            <button
              type="button"
              class="button small"
              aria-pressed={isComparing}
              onClick={() => setComparing(!isComparing)}
            >
              Compare attempts
            </button>
          )}
        </span>
      </header>
      {attempts.length === 0 && <Waiting job={job} nowAt={nowAt} />}
      {all.length > shown.length && (
        <p class="dim">{plural(all.length - shown.length, "earlier attempt")} not shown.</p>
      )}
      <ol class="attempts">
        {shown.map((one) => (
          <Row key={one.number} one={one} from={from} to={to} />
        ))}
      </ol>
      {isComparing && <AttemptComparison all={all} />}
    </section>
  );
};
