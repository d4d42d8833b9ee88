// Open while others leave the GPU alone: below a share of its time, for a while. What the worker's own jobs use says
// nothing about others, so nothing is measured while they run. Where they follow each other without a gap, it closes
// from time to time until they have ended and it has looked.

import type { Gate } from "./gate.ts";

/** `gpu<20%,5m`. */
export type IdleRule = { belowPercent: number; forMs: number };

const RULE = /^gpu\s*<\s*(\d{1,3})\s*%\s*,\s*(\d{1,4})\s*([smh])$/i;
const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

/** Null if it cannot be read. */
export const parseIdleRule = (text: string): IdleRule | null => {
  const [, percent, count, unit = ""] = RULE.exec(text.trim()) ?? [];
  const belowPercent = Number(percent);
  if (percent === undefined || belowPercent < 1 || belowPercent > 100) return null;
  return { belowPercent, forMs: Number(count) * (UNITS[unit.toLowerCase()] ?? 0) };
};

type IdleGateOptions = {
  rule: IdleRule;
  /** Whether the worker's own jobs run. */
  isWorking: () => boolean;
  /** Milliseconds, ever growing. */
  nowMs?: () => number;
};

/** Nobody who comes back to the machine waits longer for a look than this and the jobs that run. */
const MAX_UNSEEN_MS = 300_000;

const whyOf = (isKnown: boolean | undefined): string => {
  if (isKnown === undefined) return "it is not known yet whether its machine is in use";
  return isKnown ? "its machine is in use" : "neither nvidia-smi nor rocm-smi tells whether its machine is in use";
};

const LOOKING = "it lets its jobs end to see whether its machine is in use";

export class IdleGate implements Gate {
  readonly #rule: IdleRule;
  readonly #isWorking: () => boolean;
  readonly #nowMs: () => number;
  #quietSinceMs: number | null = null;
  #isOpen = false;
  /** Undefined before the first look. */
  #isKnown: boolean | undefined;
  #lookedAtMs: number;
  #isLooking = false;

  constructor({ rule, isWorking, nowMs = () => performance.now() }: IdleGateOptions) {
    this.#rule = rule;
    this.#isWorking = isWorking;
    this.#nowMs = nowMs;
    this.#lookedAtMs = nowMs();
  }

  /** The GPU's mean over a moment may still have the worker's own jobs in it, so that use counts if it lasts. */
  isInDoubt(percent: number | null): boolean {
    return percent !== null && percent >= this.#rule.belowPercent && this.#isOpen;
  }

  /** A measurement; null: the GPU could not be asked. */
  measured(percent: number | null): void {
    if (this.#isWorking()) {
      this.#isLooking = this.#nowMs() - this.#lookedAtMs >= MAX_UNSEEN_MS;
      return;
    }
    this.#lookedAtMs = this.#nowMs();
    this.#isLooking = false;
    this.#isKnown = percent !== null;
    const isQuiet = percent !== null && percent < this.#rule.belowPercent;
    if (!isQuiet) this.#quietSinceMs = null;
    else this.#quietSinceMs ??= this.#nowMs();
    this.#isOpen = this.#quietSinceMs !== null && this.#nowMs() - this.#quietSinceMs >= this.#rule.forMs;
  }

  isLooking(): boolean {
    return this.#isOpen && this.#isLooking;
  }

  closed(): string | null {
    if (this.#isOpen) return this.#isLooking ? LOOKING : null;
    const { belowPercent, forMs } = this.#rule;
    return `${whyOf(this.#isKnown)}: it waits until the GPU is below ${belowPercent} % for ${forMs / 1000} s`;
  }

  /** Each measurement is followed by a look. */
  changesInMs(): number {
    return Number.POSITIVE_INFINITY;
  }
}
