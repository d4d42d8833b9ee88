// What a measurement adds to the memory of each process of a server: its peak beside what it had before.

import type { Usage } from "./usage.ts";

const MIB = 1024 * 1024;

export interface Growth {
  /** MiB, of the process that grew most. */
  readonly mostMib: number;
  /** By process. */
  readonly note: string;
}

/** Begins; the returned function gives how far each process has grown since. */
export const watchGrowth = (
  served: Pick<Usage, "residentByProcess" | "peakByProcess" | "forgetPeaks">,
): (() => Growth) => {
  const before = served.residentByProcess();
  served.forgetPeaks();
  return () => {
    const grown = [...served.peakByProcess()].map(
      ([name, peak]) => [name, (peak - (before.get(name) ?? 0)) / MIB] as const,
    );
    return {
      mostMib: Math.max(0, ...grown.map(([, mib]) => mib)),
      note: grown.map(([name, mib]) => `${name} +${Math.max(0, Math.round(mib))} MiB`).join(", "),
    };
  };
};

/** Fails the part where a process holds what should pass through it. */
export const refuseGrowth = ({ mostMib, note }: Growth, boundMib: number): void => {
  if (mostMib > boundMib) throw new Error(`a process grew by more than ${boundMib} MiB: ${note}`);
};
