// Durations and instants in words, as the dashboard and the command line show them.

/** Rounded before it is split, so that no part says 60. */
export const duration = (ms: number): string => {
  if (ms < 1) return "under 1 ms";
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 2880) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.round(minutes / 1440)} days`;
};

const STEPS: readonly [limitSeconds: number, unitSeconds: number, name: string][] = [
  [90, 1, "s"],
  [5400, 60, "min"],
  [129_600, 3600, "h"],
  [Number.POSITIVE_INFINITY, 86_400, "d"],
];

export const relative = (at: number, nowAt: number): string => {
  const seconds = Math.round((at - nowAt) / 1000);
  const away = Math.abs(seconds);
  // Clocks differ by seconds, so an instant slightly in the future counts as now.
  if (away < 1 || (seconds > 0 && seconds < 3)) return "now";
  const [, unit, name] = STEPS.find(([limit]) => away < limit) ?? [0, 86_400, "d"];
  const amount = `${Math.round(away / unit)} ${name}`;
  return seconds < 0 ? `${amount} ago` : `in ${amount}`;
};
