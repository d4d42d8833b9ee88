// Formats numbers, money, durations and instants. Times are in the reader's zone; UTC is in the title.

import { startOf } from "../contract/text/start-of.ts";
import { duration } from "../contract/text/time-words.ts";
import { MINUTE_MS, SECOND_MS, usdText as usd } from "../contract/words/values.ts";

export { duration, relative } from "../contract/text/time-words.ts";
export { usd };

/** A figure on an axis: words have no room beside it. */
export const axisDuration = (ms: number): string =>
  ms === 0 ? "0" : ms < 1 ? `${Number(ms.toPrecision(1))} ms` : duration(ms);

const THOUSANDS = /\B(?=(?:\d{3})+$)/g;

/** By hand, as the dates below: the first use of `Intl` takes as long as drawing the page. */
export const count = (value: number): string => {
  const [whole = "", part] = String(Number(value.toFixed(3))).split(".");
  const grouped = whole.replace(THOUSANDS, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
};

/** A price, which is not rounded to cents: $0.125. */
export const price = (value: number): string => {
  const [whole = "", part = ""] = value.toFixed(9).replace(/0+$/, "").split(".");
  return `$${count(Number(whole))}.${part.padEnd(2, "0")}`;
};

/** Rounded down, so that only a whole is 100; not to 28 where a share of 0.29 is stored as a little less. */
export const wholePercent = (share: number): number => Math.floor(Number((share * 100).toFixed(9)));

const LARGE = ["k", "M", "G"] as const;

/** A number on an axis: 12,500 is "12.5k". */
export const axisCount = (value: number): string => {
  if (value < 10_000) return count(value);
  const power = Math.min(LARGE.length, Math.floor(Math.log10(value) / 3));
  return `${count(value / 1000 ** power)}${LARGE[power - 1]}`;
};

/** Steps of an axis of 100 dollars and more have no cents. */
export const axisUsd = (value: number): string => (value < 100 ? usd(value) : `$${axisCount(value)}`);

const BYTE_UNITS = ["KiB", "MiB", "GiB"] as const;

/** 1,536 bytes are "1.5 KiB". */
export const bytesText = (bytes: number): string => {
  if (bytes < 1024) return plural(bytes, "byte");
  const power = Math.min(BYTE_UNITS.length, Math.floor(Math.log(bytes) / Math.log(1024)));
  const value = bytes / 1024 ** power;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${BYTE_UNITS[power - 1]}`;
};

/** How far the reader's clock is ahead of UTC. */
const aheadHere = (at: number): number => -new Date(at).getTimezoneOffset() * MINUTE_MS;

/** The same of another zone's; throws if the browser does not know it. */
export const aheadIn = (timeZone: string, at: number): number =>
  Date.parse(`${new Date(at).toLocaleString("sv-SE", { timeZone })}Z`) - Math.floor(at / SECOND_MS) * SECOND_MS;

/** The parts of "Mon, 30 Nov 2026 14:05:09", by a clock. */
const partsOf = (at: number, aheadMs: number) => {
  const [weekday = "", date, month, year, time = ""] = new Date(at + aheadMs).toUTCString().split(" ");
  return { weekday: weekday.slice(0, 3), day: `${Number(date)} ${month}`, year, time };
};

export const clock = (at: number): string => partsOf(at, aheadHere(at)).time;

/** On an axis: a day, or hours and minutes. */
export const axisTime = (at: number, isOfDays: boolean, isUtc: boolean): string => {
  const { day, time } = partsOf(at, isUtc ? 0 : aheadHere(at));
  return isOfDays ? day : time.slice(0, 5);
};

/** With the year where it is not the present one. */
export const dateTime = (at: number, aheadMs = aheadHere(at)): string => {
  const { weekday, day, year, time } = partsOf(at, aheadMs);
  return `${weekday} ${day}${Number(year) === new Date().getFullYear() ? "" : ` ${year}`}, ${time}`;
};

/** For a title: the full instant, in the reader's zone and in UTC. */
export const bothZones = (at: number): string => {
  const { day, year, time } = partsOf(at, aheadHere(at));
  return `${day} ${year}, ${time} here · ${new Date(at).toISOString().replace("T", " ").replace("Z", " UTC")}`;
};

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

export const replaceInstants = (text: string, inWords: (at: number) => string): string =>
  text.replace(INSTANT, (iso) => inWords(Date.parse(iso)));

/** The service's reasons contain instants in UTC; here they are shown in the reader's zone, like all others. */
export const withLocalTimes = (text: string): string => replaceInstants(text, (at) => dateTime(at));

/** A JSON value as text: strings unchanged, everything else indented. */
export const jsonText = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, null, 2);

/** A text in at most so many characters, with a sign where it was cut. */
export const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${startOf(text, most - 1).trimEnd()}…`;

/** Empty where there is nothing to see: characters of no width are no words either. */
export const trimmed = (text: string): string => (/^[\s\p{Cf}]*$/u.test(text) ? "" : text.trim());

/** Only the host of an address: the rest may be long, or secret. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url);

export const isSameDay = (one: number, other: number): boolean =>
  new Date(one).toDateString() === new Date(other).toDateString();
