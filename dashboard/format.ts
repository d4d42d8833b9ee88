// Formats numbers, money, durations and instants. Times are in the reader's zone; UTC is in the title.

export const count = (value: number): string => value.toLocaleString("en-US");

/** Small sums keep enough digits to differ from zero. */
export const usd = (value: number): string => {
  if (value === 0) return "$0.00";
  const digits = Math.abs(value) >= 0.1 ? 2 : Math.abs(value) >= 0.001 ? 4 : 6;
  return value.toLocaleString("en-US", {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  });
};

export const duration = (ms: number): string => {
  if (ms < 1) return "under 1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  return `${Math.round(seconds / 86_400)} days`;
};

const STEPS: readonly [limitSeconds: number, unitSeconds: number, name: string][] = [
  [90, 1, "s"],
  [5400, 60, "min"],
  [129_600, 3600, "h"],
  [Number.POSITIVE_INFINITY, 86_400, "d"],
];

export const relative = (at: number, now: number): string => {
  const seconds = Math.round((at - now) / 1000);
  const away = Math.abs(seconds);
  // Clocks differ by seconds, so an instant slightly in the future counts as now.
  if (away < 1 || (seconds > 0 && seconds < 3)) return "now";
  const [, unit, name] = STEPS.find(([limit]) => away < limit) ?? [0, 86_400, "d"];
  const amount = `${Math.round(away / unit)} ${name}`;
  return seconds < 0 ? `${amount} ago` : `in ${amount}`;
};

const zoned = (at: number, options: Intl.DateTimeFormatOptions): string =>
  new Date(at).toLocaleString("en-GB", { hourCycle: "h23", ...options });

export const clock = (at: number): string => zoned(at, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

export const dateTime = (at: number, timeZone?: string): string =>
  zoned(at, {
    weekday: "short",
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    ...(timeZone === undefined ? {} : { timeZone }),
  });

/** For a title: the full instant, in the reader's zone and in UTC. */
export const bothZones = (at: number): string =>
  `${zoned(at, { dateStyle: "medium", timeStyle: "long" })} · ${new Date(at).toISOString().replace("T", " ").replace("Z", " UTC")}`;

export const readerZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

export const splitTags = (text: string): string[] => [
  ...new Set(
    text
      .split(/[,\s]+/)
      .map((tag) => tag.trim())
      .filter(Boolean),
  ),
];

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

const INSTANT = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g;

/** The service's reasons contain instants in UTC; here they are shown in the reader's zone, like all others. */
export const withLocalTimes = (text: string): string => text.replace(INSTANT, (iso) => dateTime(Date.parse(iso)));

/** A JSON value as text: strings unchanged, everything else indented. */
export const jsonText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);
