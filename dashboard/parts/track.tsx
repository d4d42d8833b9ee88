// The line as a signal box shows it: jobs move from left to right through block sections, past the dispatch signal,
// to the platforms where they end. The signal shows what the router can do now, and says it in words.

import { count } from "../format.ts";
import { href } from "../router.ts";
import { counts, type JobStatus, killswitch, workers } from "../state/board.ts";
import { type Aspect, Lamp } from "./lamp.tsx";

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

const signalNow = (): { aspect: Aspect; says: string } => {
  const state = killswitch.value;
  if (state?.active) return { aspect: "stop", says: `Stop: killswitch level ${state.level}` };
  const fleet = [...workers.value.values()];
  const present = fleet.filter(({ status }) => status !== "offline");
  if (fleet.length === 0) return { aspect: "stop", says: "Stop: no worker is registered" };
  if (present.length === 0) return { aspect: "stop", says: "Stop: every worker is offline" };
  const active = present.filter(({ paused }) => !paused);
  if (active.length === 0) return { aspect: "caution", says: "Caution: every worker is paused" };
  const free = active.reduce((sum, worker) => sum + Math.max(0, worker.concurrency - worker.current_load), 0);
  if (free === 0) return { aspect: "caution", says: "Caution: every worker is at capacity" };
  return { aspect: "clear", says: `Clear: ${count(free)} free ${free === 1 ? "place" : "places"}` };
};

const ASPECTS: readonly Aspect[] = ["stop", "caution", "clear"];

const DispatchSignal = () => {
  const { aspect, says } = signalNow();
  return (
    <p class={`signal signal-${aspect}`} role="status">
      <span class="signal-head" aria-hidden="true">
        {ASPECTS.map((one) => (
          <span key={one} class={`signal-lens lens-${one}${one === aspect ? " lens-lit" : ""}`}>
            {one === aspect && <Lamp aspect={one} />}
          </span>
        ))}
      </span>
      <span class="signal-says">{says}</span>
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
      <End status="completed" label="Completed" />
      <End status="failed" label="Failed" />
      <End status="cancelled" label="Cancelled" />
    </div>
  </section>
);
