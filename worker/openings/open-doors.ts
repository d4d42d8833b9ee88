// The hours and the idleness that a worker was started with, as one gate, and what measures for it.

import { ALWAYS_OPEN, allOf, type Gate, hoursGate } from "./gate.ts";
import { gpuUsePercent } from "./gpu-use.ts";
import { IdleGate, type IdleRule } from "./idle-gate.ts";

export type OpeningSettings = {
  hours: { text: string; timezone: string } | null;
  idle: IdleRule | null;
  /** Running jobs are given back when it closes. */
  drainsNow: boolean;
};

type Doors = {
  gate: Gate;
  /** Begins to measure; called when the gate opens or closes by what was measured. */
  watch: (onChange: () => void) => void;
  close: () => void;
};

/** A tool takes tens of milliseconds for each. */
const MEASURE_EVERY_MS = { shortest: 250, longest: 10_000 };
/** A short wait for idleness is still measured several times. */
const MEASURES = 4;
/** After this the mean that a tool tells has nothing of a job in it that ended before. */
const DOUBT_MS = 2_000;

const later = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });

export const openDoors = (
  opening: OpeningSettings | undefined,
  isWorking: () => boolean,
  measure: () => Promise<number | null> = gpuUsePercent,
): Doors => {
  if (opening === undefined) return { gate: ALWAYS_OPEN, watch: () => {}, close: () => {} };
  const { hours, idle } = opening;
  const idleGate = idle === null ? null : new IdleGate({ rule: idle, isWorking });
  const gates = [...(hours === null ? [] : [hoursGate(hours.text, hours.timezone)]), ...(idleGate ? [idleGate] : [])];
  let timer: NodeJS.Timeout | undefined;
  const watch = (onChange: () => void) => {
    if (idleGate === null || idle === null) return;
    const look = async () => {
      const before = idleGate.closed();
      const percent = await measure();
      const isSure = isWorking() || !idleGate.isInDoubt(percent);
      idleGate.measured(isSure ? percent : await later(DOUBT_MS).then(measure));
      if (before !== idleGate.closed()) onChange();
    };
    void look();
    timer = setInterval(
      () => void look(),
      Math.min(MEASURE_EVERY_MS.longest, Math.max(MEASURE_EVERY_MS.shortest, idle.forMs / MEASURES)),
    );
    timer.unref();
  };
  return { gate: allOf(gates), watch, close: () => clearInterval(timer) };
};
