// Two attempts of a job side by side.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count, duration } from "../../format.ts";
import { costOf, ErrorLine, modelOf, outcomeOf, WorkerLink } from "./attempt-facts.tsx";
import { firstTokenMs, msIn, type Timed } from "./attempt-spans.ts";

const durationOrNone = (ms: number | null): string => (ms === null ? "–" : duration(ms));
const countOrNone = (value: number | undefined): string => (value === undefined ? "–" : count(value));

const FIGURES: readonly (readonly [name: string, show: (one: Timed) => ComponentChildren])[] = [
  ["Outcome", ({ attempt }) => outcomeOf(attempt).says.toLowerCase()],
  ["Worker", ({ attempt }) => <WorkerLink worker={attempt.worker} />],
  ["Provider, model", ({ attempt }) => modelOf(attempt)],
  ["Back-off", ({ spans }) => durationOrNone(msIn(spans, "backoff"))],
  ["Queued", ({ spans }) => durationOrNone(msIn(spans, "queue"))],
  ["Assigned", ({ spans }) => durationOrNone(msIn(spans, "assigned"))],
  ["Ran", ({ spans }) => durationOrNone(msIn(spans, "first_token", "stream", "running"))],
  ["First token", ({ attempt }) => durationOrNone(firstTokenMs(attempt))],
  ["Tokens in", ({ attempt }) => countOrNone(attempt.usage?.input_tokens)],
  ["Tokens out", ({ attempt }) => countOrNone(attempt.usage?.output_tokens)],
  ["Cost", ({ attempt }) => costOf(attempt)],
  ["Error", ({ attempt }) => (attempt.error === null ? "none" : <ErrorLine attempt={attempt} />)],
];

interface ChooserProps {
  all: readonly Timed[];
  value: number;
  name: string;
  onInput: (index: number) => void;
}

const Chooser = ({ all, value, name, onInput }: ChooserProps) => (
  <select aria-label={name} value={value} onChange={(event) => onInput(Number(event.currentTarget.value))}>
    {all.map(({ number }, index) => (
      <option key={number} value={index} selected={index === value}>
        Attempt {number}
      </option>
    ))}
  </select>
);

export const AttemptComparison = ({ all }: { all: readonly Timed[] }) => {
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
