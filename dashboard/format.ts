// Formats numbers, money, durations and instants. Times are in the reader's zone; UTC is in the title.

import { startOf } from "../contract/text/start-of.ts";

export { usdText as usd } from "../contract/values.ts";

export const count = (value: number): string => value.toLocaleString("en-US");

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

/** With the year where it is not the present one. */
export const dateTime = (at: number, timeZone?: string): string =>
  zoned(at, {
    weekday: "short",
    day: "numeric",
    month: "short",
    ...(new Date(at).getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" }),
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

export const instantsIn = (text: string): number[] => [...text.matchAll(INSTANT)].map(([iso]) => Date.parse(iso));

/** The service's reasons contain instants in UTC; here they are shown in the reader's zone, like all others. */
export const withLocalTimes = (text: string): string => text.replace(INSTANT, (iso) => dateTime(Date.parse(iso)));

/** A JSON value as text: strings unchanged, everything else indented. */
export const jsonText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** A text in at most so many characters, with a sign where it was cut. */
export const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${startOf(text, most - 1).trimEnd()}…`;

/** Only the host of an address: the rest may be long, or secret. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);

export const isSameDay = (one: number, other: number): boolean =>
  new Date(one).toDateString() === new Date(other).toDateString();
