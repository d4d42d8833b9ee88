// The runtime's state: asked at the start, with each full presence report and after a job that could not reach it;
// while it is unavailable, repeatedly until it is back. Logs when it goes and when it comes back.

import type { Runtime, RuntimeState } from "./calls/runtime.ts";
import type { WorkerLog } from "./log.ts";
import { ALWAYS_OPEN, type Gate } from "./openings/gate.ts";
import { backoffMs } from "./session/backoff.ts";

const RETRY_FLOOR_MS = 1_000;
const RETRY_CEILING_MS = 15_000;
/** After a restart a runtime may have other APIs with the same model list, so everything is checked this often. */
const FULL_LOOK_EVERY_MS = 60_000;

/** A timer that is longer would follow no change of the machine's clock. */
const LONGEST_TIMER_MS = 600_000;

type RuntimeWatchOptions = {
  runtime: Runtime;
  log: WorkerLog;
  gate?: Gate;
  random?: () => number;
};

const isLost = ({ unavailable, isClosed = false }: RuntimeState): boolean => unavailable !== null && !isClosed;

export class RuntimeWatch {
  readonly #options: RuntimeWatchOptions;
  #state: RuntimeState = { unavailable: null, apis: [], models: null };
  #onChange: (state: RuntimeState) => void = () => {};
  #underWay: Promise<void> | null = null;
  #fullLookAtMs = Number.NEGATIVE_INFINITY;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #retry: NodeJS.Timeout | undefined;
  #change: NodeJS.Timeout | undefined;
  readonly #gate: Gate;
  #isStopped = false;

  constructor(options: RuntimeWatchOptions) {
    this.#options = options;
    this.#gate = options.gate ?? ALWAYS_OPEN;
  }

  get state(): RuntimeState {
    return this.#state;
  }

  /** Called with every changed state. */
  watch(onChange: (state: RuntimeState) => void): void {
    this.#onChange = onChange;
  }

  /** Called with every heartbeat; asks as often as the runtime allows. */
  lookIfDue(): void {
    const { probeEveryMs } = this.#options.runtime;
    if (performance.now() - this.#lookedAtMs >= probeEveryMs) void this.look();
  }

  look(): Promise<void> {
    this.#underWay ??= this.#probe().finally(() => {
      this.#underWay = null;
    });
    return this.#underWay;
  }

  /** A job found that the runtime is unreachable. */
  lost(reason: string): void {
    this.#become({ ...this.#state, unavailable: reason });
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#change);
  }

  async #probe(): Promise<void> {
    this.#lookedAtMs = performance.now();
    const isFull = performance.now() - this.#fullLookAtMs >= FULL_LOOK_EVERY_MS || isLost(this.#state);
    if (isFull) this.#fullLookAtMs = performance.now();
    const next = await this.#options.runtime.probe(isFull ? null : this.#state);
    const closed = this.#gate.closed();
    this.#lookAtChange();
    // While it is away, its last known offer is kept.
    const offer = next.unavailable === null ? next : this.#state;
    const { isClosed: _, isLooking: __, ...known } = offer;
    const looking = this.#gate.isLooking?.() ? { isLooking: true } : {};
    if (closed === null) this.#become({ ...known, unavailable: next.unavailable });
    else this.#become({ ...known, unavailable: closed, isClosed: true, ...looking });
  }

  #become(next: RuntimeState): void {
    const before = this.#state;
    const { runtime, log } = this.#options;
    this.#state = next;
    if (next.unavailable === null) {
      this.#failures = 0;
      clearTimeout(this.#retry);
      if (before.isClosed) log("taking jobs again", { event: "worker.opened" });
      else if (before.unavailable !== null)
        log(`the runtime ${runtime.name} at ${runtime.address} is back`, { event: "runtime.back" });
    } else {
      if (before.unavailable === null && next.isClosed)
        log(`taking no jobs: ${next.unavailable}`, { event: "worker.closed" });
      else if (before.unavailable === null)
        log(`taking no jobs: ${next.unavailable}`, { event: "runtime.lost", level: "warn" });
      if (next.isClosed) clearTimeout(this.#retry);
      else this.#lookAgain();
    }
    if (JSON.stringify(before) !== JSON.stringify(next)) this.#onChange(next);
  }

  /** Hours begin and end on time, not with the next heartbeat. */
  #lookAtChange(): void {
    clearTimeout(this.#change);
    const ms = this.#gate.changesInMs();
    if (this.#isStopped || !Number.isFinite(ms)) return;
    this.#change = setTimeout(() => void this.look(), Math.min(Math.max(ms, 0), LONGEST_TIMER_MS));
    this.#change.unref();
  }

  #lookAgain(): void {
    clearTimeout(this.#retry);
    if (this.#isStopped) return;
    const { random = Math.random } = this.#options;
    const ms = Math.min(RETRY_CEILING_MS, RETRY_FLOOR_MS + backoffMs(this.#failures, random()));
    this.#failures += 1;
    this.#retry = setTimeout(() => void this.look(), ms);
    this.#retry.unref();
  }
}
