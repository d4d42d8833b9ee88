// A job's time as a waterfall: what it waited for, and each attempt from its assignment to its end, on one scale that
// can be zoomed; and a comparison of two attempts.

import { useState } from "preact/hooks";
import type { AttemptResource } from "../../../contract/jobs/insight.ts";
import type { JobEventResource, JobResource } from "../../../contract/jobs/job.ts";
import { plural } from "../../format.ts";
import { Lamp } from "../../parts/lamp.tsx";
import { now } from "../../state/clock.ts";
import { AttemptComparison } from "./attempt-comparison.tsx";
import { costOf, ErrorLine, modelOf, outcomeOf, WorkerLink } from "./attempt-facts.tsx";
import { lastWait, type Span, type Timed, timed } from "./attempt-spans.ts";
import { ownSpans } from "./own-spans.ts";
import { type OwnSpan, Waterfall, WaterfallAxis } from "./waterfall.tsx";
import { closer, moved, type Window } from "./waterfall-window.ts";

/** Earlier attempts are collapsed. */
const MAX_SHOWN = 12;

interface AttemptProps {
  readonly one: Timed;
  readonly own: readonly OwnSpan[];
  readonly shown: Window;
  readonly whole: Window;
}

const Attempt = ({ one, own, shown, whole }: AttemptProps) => {
  const { attempt, number, spans } = one;
  const { says, aspect } = outcomeOf(attempt);
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
      <Waterfall spans={spans} own={own} shown={shown} whole={whole} />
      <ErrorLine attempt={attempt} />
    </li>
  );
};

const titleOf = (job: JobResource, attempts: readonly AttemptResource[]): string => {
  if (attempts.length > 0) return plural(attempts.length, "attempt");
  return job.finished_at === null ? "Not assigned yet" : "Never assigned";
};

const around = (spans: readonly Span[]): Window => {
  const from = Math.min(...spans.map((span) => span.from));
  return { from, to: Math.max(from + 1, ...spans.map((span) => span.to)) };
};

/** The last attempt without the wait before it. */
const lastLease = (all: readonly Timed[], whole: Window): Window => {
  const spans = all.at(-1)?.spans ?? [];
  const assigned = spans.findIndex(({ phase }) => phase === "assigned");
  return assigned < 0 ? whole : around(spans.slice(assigned));
};

interface ZoomProps {
  readonly zoomed: Window | null;
  readonly whole: Window;
  readonly about: Window;
  readonly onZoom: (next: Window | null) => void;
}

const Zoom = ({ zoomed, whole, about, onZoom }: ZoomProps) => {
  const button = (says: string, next: Window | null) => (
    <button type="button" class="button small" onClick={() => onZoom(next)}>
      {says}
    </button>
  );
  return (
    <>
      {zoomed !== null && button("Whole", null)}
      {zoomed !== null && button("Earlier", moved(zoomed, whole, -1))}
      {zoomed !== null && button("Later", moved(zoomed, whole, 1))}
      {button("Zoom", closer(zoomed, whole, about))}
    </>
  );
};

interface AttemptsProps {
  job: JobResource;
  attempts: readonly AttemptResource[];
  events: readonly JobEventResource[];
}

export const Attempts = ({ job, attempts, events }: AttemptsProps) => {
  const [isComparing, setComparing] = useState(false);
  const [zoomed, setZoomed] = useState<Window | null>(null);
  // Updates every second only while the job is open.
  const nowAt = job.finished_at === null ? now.value : Date.parse(job.finished_at);
  const all = timed(job, attempts, events, nowAt);
  const kept = all.slice(-MAX_SHOWN);
  const wait = lastWait(job, attempts, events, nowAt);
  const whole = around([...kept.flatMap(({ spans }) => spans), ...wait]);
  const shown = zoomed ?? whole;
  return (
    <section class="panel" aria-label="Attempts">
      <header class="panel-head">
        <h2>{titleOf(job, attempts)}</h2>
        <span class="actions">
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
          <Zoom zoomed={zoomed} whole={whole} about={lastLease(all, whole)} onZoom={setZoomed} />
        </span>
      </header>
      {all.length > kept.length && <p class="dim">{plural(all.length - kept.length, "earlier attempt")} not shown.</p>}
      <WaterfallAxis shown={shown} whole={whole} />
      <ol class="attempts">
        {kept.map((one) => (
          <Attempt
            key={one.number}
            one={one}
            own={one === all.at(-1) ? ownSpans(job.progress, nowAt) : []}
            shown={shown}
            whole={whole}
          />
        ))}
        {wait.length > 0 && (
          <li class="attempt">
            <Waterfall spans={wait} shown={shown} whole={whole} />
          </li>
        )}
      </ol>
      {isComparing && <AttemptComparison all={all} />}
    </section>
  );
};
