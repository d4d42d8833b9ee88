// Latency for the operator: quantiles of completed attempts, over a rolling period.

import { type LatencyAnswer, presentMeasured } from "../../../contract/latency.ts";
import { toIso } from "../../../contract/words/field.ts";
import { type Dimension, type Measured, mergeMeasured, noMeasures, OTHER } from "../../../domain/insight/latency.ts";
import { ROLLING_PERIODS, type RollingPeriod, stepsOf } from "../../../domain/insight/slots.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import type { Turn } from "../../turn/turn.ts";

const MAX_LATENCY_ROWS = 1_000;

const sumInto = <Key>(sums: Map<Key, Measured>, key: Key, measured: Measured): void => {
  const sum = sums.get(key) ?? noMeasures();
  sums.set(key, sum);
  mergeMeasured(sum, measured);
};

/** The rows with most jobs by name, the others as one. */
const bounded = (byValue: Map<string, Measured>): [string, Measured][] => {
  const rows = [...byValue].filter(([value]) => value !== OTHER).sort(([, one], [, other]) => other.jobs - one.jobs);
  const rest = byValue.get(OTHER) ?? noMeasures();
  for (const [, measured] of rows.splice(MAX_LATENCY_ROWS - 1)) mergeMeasured(rest, measured);
  return rest.jobs === 0 ? rows : [...rows, [OTHER, rest]];
};

export const readLatency = (
  turn: Turn,
  { by, period }: { by: Dimension; period: RollingPeriod },
): Result<LatencyAnswer, Refusal> => {
  const { slots, stepMs } = ROLLING_PERIODS[period];
  const fromAt = stepsOf(period, turn.nowAt)[0] ?? turn.nowAt;
  const found = (of: Dimension) => turn.memory.counters.latencies.since(turn.store.latency, slots, of, fromAt);
  const byValue = new Map<string, Measured>();
  for (const { slot } of found(by)) for (const [value, measured] of slot) sumInto(byValue, value, measured);
  // Each attempt has one provider, so these sums count each once; of tags it may have several, or none.
  const total = noMeasures();
  const series = new Map<number, Measured>();
  for (const { at, slot } of found("provider")) {
    for (const measured of slot.values()) {
      mergeMeasured(total, measured);
      sumInto(series, Math.floor(at / stepMs) * stepMs, measured);
    }
  }
  return ok({
    by,
    period,
    from: toIso(fromAt),
    to: toIso(turn.nowAt),
    total: presentMeasured(total),
    rows: bounded(byValue).map(([value, measured]) => ({ value, ...presentMeasured(measured) })),
    series: [...series].map(([at, measured]) => ({ at: toIso(at), ...presentMeasured(measured) })),
  });
};
