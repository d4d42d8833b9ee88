// A job's attempts: a bar each, from queue over assigned to running, on one scale, and a comparison of two.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { AttemptResource } from "../../contract/insight.ts";
import type { JobResource } from "../../contract/job.ts";
import { count, duration, plural, usd, withLocalTimes } from "../format.ts";
import { href } from "../router.ts";
import { now } from "../state/clock.ts";
import { Lamp } from "./lamp.tsx";
import { eventWords } from "./timeline.tsx";

/** Earlier attempts are collapsed. */
const MAX_SHOWN = 12;
const BAR = 1000;
const LEAST_WIDTH = 4;

type Phase = "queue" | "assigned" | "running";

interface Span {
  readonly phase: Phase;
  readonly from: number;
  readonly to: number;
}

interface Timed {
  readonly attempt: AttemptResource;
  readonly number: number;
  readonly spans: readonly Span[];
}

const PHASE_WORDS: Record<Phase, string> = { queue: "queued", assigned: "assigned", running: "ran" };

const spansOf = (attempt: AttemptResource, queuedAt: number, nowAt: number): Span[] => {
  const assigned = Date.parse(attempt.assigned_at);
  const end = attempt.finished_at === null ? nowAt : Date.parse(attempt.finished_at);
  const started = attempt.started_at === null ? null : Date.parse(attempt.started_at);
  const spans: Span[] = [
    { phase: "queue", from: Math.min(queuedAt, assigned), to: assigned },
    { phase: "assigned", from: assigned, to: started ?? end },
  ];
  if (started !== null) spans.push({ phase: "running", from: started, to: Math.max(started, end) });
  return spans;
};

/** Each attempt queues from the end of the previous one. */
const timed = (job: JobResource, attempts: readonly AttemptResource[], nowAt: number): Timed[] => {
  let queuedAt = Date.parse(job.run_at ?? job.created_at);
  return attempts.map((attempt, index) => {
    const spans = spansOf(attempt, queuedAt, nowAt);
    queuedAt = attempt.finished_at === null ? nowAt : Date.parse(attempt.finished_at);
    return { attempt, number: index + 1, spans };
  });
};

const inWords = (spans: readonly Span[]): string =>
  spans.map(({ phase, from, to }) => `${PHASE_WORDS[phase]} ${duration(to - from)}`).join(" → ");

const Bar = ({ spans, from, to }: { spans: readonly Span[]; from: number; to: number }) => {
  const at = (instant: number): number => ((instant - from) / Math.max(1, to - from)) * BAR;
  return (
    <svg
      class="attempt-bar"
      viewBox={`0 0 ${BAR} 12`}
      preserveAspectRatio="none"
      role="img"
      aria-label={inWords(spans)}
    >
      {spans
        .filter((span) => span.to > span.from)
        .map((span) => (
          <rect
            key={span.phase}
            class={`phase-${span.phase}`}
            x={Math.min(at(span.from), BAR - LEAST_WIDTH)}
            width={Math.max(at(span.to) - at(span.from), LEAST_WIDTH)}
            height="12"
          />
        ))}
    </svg>
  );
};

const firstTokenMs = ({ started_at, first_token_at }: AttemptResource): number | null =>
  started_at === null || first_token_at === null ? null : Date.parse(first_token_at) - Date.parse(started_at);

const modelOf = ({ provider, model }: AttemptResource): string =>
  [provider, model].filter((part) => part !== null).join(" · ") || "model unknown";

const costOf = ({ cost_usd, usage, price_source }: AttemptResource): string => {
  if (cost_usd !== null) return `${usd(cost_usd)}${price_source === "table" ? " (estimate)" : ""}`;
  return usage === null ? "nothing spent" : "price unknown";
};

const ErrorLine = ({ attempt: { error } }: { attempt: AttemptResource }) =>
  error === null ? null : (
    <p class="attempt-error tone-stop">
      <code>{error.code}</code>
      {error.status !== undefined && ` ${error.status}`}: {withLocalTimes(error.message)}
    </p>
  );

const WorkerLink = ({ worker }: { worker: string | null }) =>
  worker === null ? <span class="dim">no worker</span> : <a href={href(["fleet", worker])}>{worker}</a>;

const Row = ({ one, from, to }: { one: Timed; from: number; to: number }) => {
  const { says, aspect } =
    one.attempt.outcome === null ? { says: "Goes on", aspect: "clear" as const } : eventWords(one.attempt.outcome);
  const token = firstTokenMs(one.attempt);
  return (
    <li class="attempt">
      <p class="attempt-head">
        <Lamp aspect={aspect} isLit={one.attempt.outcome === null} />
        <strong>Attempt {one.number}</strong>
        <span>{says}</span>
        <WorkerLink worker={one.attempt.worker} />
        <span class="dim">{modelOf(one.attempt)}</span>
        <span class="attempt-cost num">{costOf(one.attempt)}</span>
      </p>
      <Bar spans={one.spans} from={from} to={to} />
      <p class="attempt-says dim num">
        {inWords(one.spans)}
        {token !== null && `, first token after ${duration(token)}`}
      </p>
      <ErrorLine attempt={one.attempt} />
    </li>
  );
};

const FIGURES: readonly (readonly [name: string, show: (one: Timed) => ComponentChildren])[] = [
  ["Outcome", ({ attempt }) => (attempt.outcome === null ? "goes on" : eventWords(attempt.outcome).says.toLowerCase())],
  ["Worker", ({ attempt }) => <WorkerLink worker={attempt.worker} />],
  ["Provider, model", ({ attempt }) => modelOf(attempt)],
  ["Queued", ({ spans }) => durationOf(spans, "queue")],
  ["Assigned", ({ spans }) => durationOf(spans, "assigned")],
  ["Ran", ({ spans }) => durationOf(spans, "running")],
  ["First token", ({ attempt }) => durationOrNone(firstTokenMs(attempt))],
  ["Tokens in", ({ attempt }) => (attempt.usage === null ? "–" : count(attempt.usage.input_tokens))],
  ["Tokens out", ({ attempt }) => (attempt.usage === null ? "–" : count(attempt.usage.output_tokens))],
  ["Cost", ({ attempt }) => costOf(attempt)],
  ["Error", ({ attempt }) => (attempt.error === null ? "none" : <ErrorLine attempt={attempt} />)],
];

const durationOrNone = (ms: number | null): string => (ms === null ? "–" : duration(ms));
const durationOf = (spans: readonly Span[], phase: Phase): string => {
  const span = spans.find((one) => one.phase === phase);
  return durationOrNone(span === undefined ? null : span.to - span.from);
};

const Chooser = ({ all, value, name, onInput }: ChooserProps) => (
  <select aria-label={name} value={value} onChange={(event) => onInput(Number(event.currentTarget.value))}>
    {all.map(({ number }, index) => (
      <option key={number} value={index} selected={index === value}>
        Attempt {number}
      </option>
    ))}
  </select>
);

interface ChooserProps {
  all: readonly Timed[];
  value: number;
  name: string;
  onInput: (index: number) => void;
}

const Comparison = ({ all }: { all: readonly Timed[] }) => {
  const [left, setLeft] = useState(all.length - 2);
  const [right, setRight] = useState(all.length - 1);
  const [one, other] = [all[left], all[right]];
  if (one === undefined || other === undefined) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and so must be reachable by keyboard
    <section class="table-box" tabIndex={0} aria-label="Two attempts side by side">
      <table class="table comparison">
        <thead>
          <tr>
            <th scope="col">
              <span class="visually-hidden">Figure</span>
            </th>
            <th scope="col">
              <Chooser all={all} value={left} name="On the left" onInput={setLeft} />
            </th>
            <th scope="col">
              <Chooser all={all} value={right} name="On the right" onInput={setRight} />
            </th>
          </tr>
        </thead>
        <tbody>
          {FIGURES.map(([name, show]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{show(one)}</td>
              <td>{show(other)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
};

const Legend = () => (
  <ul class="plot-legend" aria-hidden="true">
    {(["queue", "assigned", "running"] as const).map((phase) => (
      <li key={phase}>
        <span class={`swatch swatch-${phase}`} />
        {phase}
      </li>
    ))}
  </ul>
);

const Waiting = ({ job }: { job: JobResource }) => {
  const from = Date.parse(job.created_at);
  const to = job.finished_at === null ? now.value : Date.parse(job.finished_at);
  return <Bar spans={[{ phase: "queue", from, to }]} from={from} to={to} />;
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
        <h2>{attempts.length === 0 ? "Not assigned yet" : plural(attempts.length, "attempt")}</h2>
        <span class="actions">
          <Legend />
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
      {attempts.length === 0 && <Waiting job={job} />}
      {all.length > shown.length && (
        <p class="dim">{plural(all.length - shown.length, "earlier attempt")} not shown.</p>
      )}
      <ol class="attempts">
        {shown.map((one) => (
          <Row key={one.number} one={one} from={from} to={to} />
        ))}
      </ol>
      {isComparing && <Comparison all={all} />}
    </section>
  );
};
