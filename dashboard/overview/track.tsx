// The line, drawn like a signal box panel: jobs move from left to right through sections, past the dispatch signal, to
// where they end. The signal shows whether the router can dispatch now, also in words.

import { MINUTE_MS } from "../../contract/words/values.ts";
import { count } from "../format.ts";
import { type Aspect, Lamp } from "../parts/lamp.tsx";
import { href } from "../router.ts";
import {
  budgetReached,
  counts,
  fleet,
  hasSnapshot,
  type JobStatus,
  killswitch,
  minutes,
  queue,
} from "../state/board.ts";
import { now } from "../state/clock.ts";
import { waits } from "../state/waiting.ts";
import { lineSignal } from "./line-signal.ts";

const MAX_LIGHTS = 8;

const Lights = ({ value }: { value: number }) => (
  <span class="block-lights" aria-hidden="true">
    {Array.from({ length: MAX_LIGHTS }, (_, index) => (
      <span key={index} class={index < value ? "lit" : ""} />
    ))}
  </span>
);

const Block = ({ status, label }: { status: JobStatus; label: string }) => {
  const value = counts.value[status] ?? 0;
  return (
    <a class={`block block-${status}`} href={href(["jobs"], { status })}>
      <span class="block-label">{label}</span>
      <span class="block-count num">{count(value)}</span>
      <Lights value={value} />
    </a>
  );
};

const End = ({ status, label }: { status: JobStatus; label: string }) => (
  <a class={`end end-${status}`} href={href(["jobs"], { status })}>
    <span class="end-rail" aria-hidden="true" />
    <span class="block-label">{label}</span>
    <span class="end-count num">{count(counts.value[status] ?? 0)}</span>
  </a>
);

const RECENT_MINUTES = 5;

/** The facts from the object, for the whole fleet and queue. */
const signalNow = () => {
  const recent = minutes.value.filter(({ at }) => Date.parse(at) > now.value - RECENT_MINUTES * MINUTE_MS);
  const wait = waits.value[0];
  const reached = budgetReached.value;
  return lineSignal({
    nowAt: now.value,
    haltLevel: killswitch.value?.active ? killswitch.value.level : 0,
    fleet: fleet.value,
    waiting: queue.value?.total ?? 0,
    underWay: (counts.value.assigned ?? 0) + (counts.value.running ?? 0),
    longestWait:
      wait === undefined ? null : { reason: wait.reason, count: wait.count, oldestAt: Date.parse(wait.oldestAt) },
    budgetReached: reached === null ? null : { period: reached.period, limitUsd: reached.limit_usd },
    completed: recent.reduce((sum, { completed }) => sum + completed, 0),
    failed: recent.reduce((sum, { failed }) => sum + failed, 0),
  });
};

const ASPECTS: readonly Aspect[] = ["stop", "caution", "clear"];

const UNKNOWN = { aspect: "dark", says: "Loading …" } as const;

const DispatchSignal = () => {
  const { aspect, says } = hasSnapshot.value ? signalNow() : UNKNOWN;
  const [word = ""] = says.split(":", 1);
  return (
    <p class={`signal signal-${aspect}`}>
      <span class="signal-head" aria-hidden="true">
        {ASPECTS.map((one) => (
          <span key={one} class={`signal-lens lens-${one}${one === aspect ? " lens-lit" : ""}`}>
            {one === aspect && <Lamp aspect={one} />}
          </span>
        ))}
      </span>
      <span class="signal-says">
        {/* The rest counts, and would be announced again with each job. */}
        <span role="status">{word}</span>
        {says.slice(word.length)}
      </span>
    </p>
  );
};

export const Track = () => (
  <section class="track" aria-label="The line: jobs by state">
    <Block status="pending" label="Pending" />
    <DispatchSignal />
    <Block status="assigned" label="Assigned" />
    <Block status="running" label="Running" />
    <div class="ends">
      <p class="ends-title">Ended, of all time</p>
      <End status="completed" label="Completed" />
      <End status="failed" label="Failed" />
      <End status="cancelled" label="Cancelled" />
    </div>
  </section>
);
