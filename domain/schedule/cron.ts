// Five-field cron: parsing, and matching against the wall clock. Invariant: a Cron fires at least once in eight years,
// at whole minutes of the wall clock. Accepts classic cron: numbers, *, lists, ranges, steps on * or a range, names
// (JAN, MON) in any case, 0 and 7 for Sunday. If day of month and day of week are both restricted, either one matches.

import { DAY_MS, MINUTE_MS } from "../words/duration.ts";
import { leadingCount } from "../words/leading-count.ts";
import { err, ok, type Result } from "../words/result.ts";

const MAX_CRON_LENGTH = 128;
const NAMED_TWICE = "cron names a value twice in one field (0 and 7 are both Sunday): leave the repetition out";
const NEVER_FIRES = "cron never fires: none of its months has that day; change the day of month or the month";

/** A parsed expression: which days fire, and at which minutes of the day (0–1439, ascending). */
export interface Cron {
  readonly minutesOfDay: readonly number[];
  /** The hour field contains all 24 hours: the schedule follows elapsed time, not the clock. */
  readonly everyHour: boolean;
  readonly months: ReadonlySet<number>;
  readonly daysOfMonth: ReadonlySet<number>;
  readonly daysOfWeek: ReadonlySet<number>;
  readonly dayOfMonthAny: boolean;
  readonly dayOfWeekAny: boolean;
}

interface FieldRule {
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const FIELDS: readonly FieldRule[] = [
  { label: "minute", min: 0, max: 59, names: [] },
  { label: "hour", min: 0, max: 23, names: [] },
  { label: "day of month", min: 1, max: 31, names: [] },
  { label: "month", min: 1, max: 12, names: MONTHS },
  { label: "day of week", min: 0, max: 7, names: WEEKDAYS },
];

/** The parsed expression, or a message that says what to change. */
export const parseCron = (text: string): Result<Cron, string> => {
  if (text.length > MAX_CRON_LENGTH) {
    return err(`cron has ${text.length} characters: at most ${MAX_CRON_LENGTH} are allowed`);
  }
  if (text.startsWith("@")) return err("cron must have five fields: write @daily, for example, as 0 0 * * *");
  const stranger = /[^0-9A-Za-z*,/ -]/u.exec(text);
  if (stranger !== null) {
    return err(`cron has the character ${JSON.stringify(stranger[0])}: use only digits, names, spaces and * , - /`);
  }
  if (text !== text.trim()) return err("cron must not begin or end with a space");
  const fields = text.split(/ +/);
  if (fields.length !== FIELDS.length || text === "") {
    const count = text === "" ? 0 : fields.length;
    return err(`cron has ${count} ${count === 1 ? "field" : "fields"}: give five, minute hour day month weekday`);
  }
  for (const [index, field] of fields.entries()) {
    const problem = fieldProblem(field, FIELDS[index] as FieldRule);
    if (problem !== null) return err(problem);
  }
  return readFields(fields);
};

const readFields = (fields: readonly string[]): Result<Cron, string> => {
  const [minutes, hours, daysOfMonth, months, daysOfWeek] = fields.map((field, index) =>
    valuesOf(field, FIELDS[index] as FieldRule),
  ) as [number[], number[], number[], number[], number[]];
  for (const values of [minutes, hours, daysOfMonth, months, daysOfWeek]) {
    if (new Set(values).size < values.length) return err(NAMED_TWICE);
  }
  const dayOfWeekAny = fields[4] === "*";
  if (dayOfWeekAny && !months.some((month) => daysOfMonth.some((day) => day <= daysIn(month)))) return err(NEVER_FIRES);
  return ok({
    minutesOfDay: ascending(hours).flatMap((hour) => ascending(minutes).map((minute) => hour * 60 + minute)),
    everyHour: hours.length === 24,
    months: new Set(months),
    daysOfMonth: new Set(daysOfMonth),
    daysOfWeek: new Set(daysOfWeek),
    dayOfMonthAny: fields[2] === "*",
    dayOfWeekAny,
  });
};

const ascending = (values: readonly number[]): number[] => values.toSorted((one, other) => one - other);

/** In a leap year. */
const daysIn = (month: number): number => new Date(Date.UTC(2024, month, 0)).getUTCDate();

/** The values of a valid field, in order. */
const valuesOf = (field: string, rule: FieldRule): number[] => {
  return field.split(",").flatMap((item) => {
    const [range = "", step = "1"] = item.split("/");
    const [first = "", last = first] = range.split("-");
    const low = range === "*" ? rule.min : (fieldValue(first, rule, false) ?? rule.min);
    const high = range === "*" ? rule.max : (fieldValue(last, rule, range.includes("-")) ?? rule.max);
    const values = new Set<number>();
    // 0 and 7 are both Sunday, so a range may contain both.
    for (let value = low; value <= high; value += Number(step)) values.add(rule.names === WEEKDAYS ? value % 7 : value);
    return [...values];
  });
};

/** Whether the expression fires on a day of one of its months, given as the wall clock's midnight. */
const firesOn = (cron: Cron, date: Date): boolean => {
  if (cron.dayOfMonthAny) return cron.daysOfWeek.has(date.getUTCDay());
  if (cron.daysOfMonth.has(date.getUTCDate())) return true;
  return !cron.dayOfWeekAny && cron.daysOfWeek.has(date.getUTCDay());
};

const midnightOf = (wall: number): number => Math.floor(wall / DAY_MS) * DAY_MS;

/** The first day that fires, from the one of `fromWall` on, as the wall clock's midnight; null if none is before `untilWall`. */
export const nextDay = (cron: Cron, fromWall: number, untilWall: number): number | null => {
  for (let day = midnightOf(fromWall); day < untilWall; day += DAY_MS) {
    const date = new Date(day);
    const month = date.getUTCMonth() + 1;
    if (!cron.months.has(month)) day = Date.UTC(date.getUTCFullYear(), month) - DAY_MS;
    else if (firesOn(cron, date)) return day;
  }
  return null;
};

/** The matching minutes in the wall-clock span [fromWall, untilWall): their number, the first and the last. */
export const matchesBetween = (cron: Cron, fromWall: number, untilWall: number) => {
  let count = 0;
  let firstWall: number | null = null;
  let lastWall: number | null = null;
  for (let day = nextDay(cron, fromWall, untilWall); day !== null; day = nextDay(cron, day + DAY_MS, untilWall)) {
    const before = (wall: number): number =>
      leadingCount(cron.minutesOfDay, (minute) => minute < (wall - day) / MINUTE_MS);
    const [start, end] = [before(fromWall), before(untilWall)];
    if (end <= start) continue;
    count += end - start;
    firstWall ??= day + (cron.minutesOfDay[start] as number) * MINUTE_MS;
    lastWall = day + (cron.minutesOfDay[end - 1] as number) * MINUTE_MS;
  }
  return { count, firstWall, lastWall };
};

/** What is wrong with one field, or null. */
const fieldProblem = (field: string, rule: FieldRule): string | null => {
  const where = `cron's ${rule.label} field "${field}"`;
  for (const item of field.split(",")) {
    const match = /^(?:(\*)|([0-9]{1,2}|[A-Za-z]{3})(?:-([0-9]{1,2}|[A-Za-z]{3}))?)(?:\/([0-9]{1,2}))?$/.exec(item);
    if (match === null)
      return `${where} cannot be read: use *, a number, a range, a list of them, or a step such as */5`;
    const [, star, first, last, step] = match;
    const low = star === undefined ? fieldValue(first as string, rule, false) : rule.min;
    const high = star === undefined ? fieldValue(last ?? (first as string), rule, last !== undefined) : rule.max;
    if (low === null || high === null) {
      return `${where} must stay within ${rule.min}-${rule.max}${rule.names.length > 0 ? ` or use names such as ${rule.names[1]?.toUpperCase()}` : ""}`;
    }
    if (low > high) return `${where} has a range that runs backwards: split it in two, such as 22-23,0-4`;
    if (step === undefined) continue;
    if (star === undefined && last === undefined) {
      return `${where} has a step without a range: write ${first}-${rule.max}/${step}`;
    }
    if (Number(step) < 1 || Number(step) > high - low + 1) {
      return `${where} has a step that must be between 1 and ${high - low + 1}`;
    }
  }
  return null;
};

/** The number of a field's value; SUN at the end of a range is 7, so that FRI-SUN works. */
const fieldValue = (text: string, rule: FieldRule, endsRange: boolean): number | null => {
  if (/^[0-9]+$/.test(text)) {
    const value = Number(text);
    return value >= rule.min && value <= rule.max ? value : null;
  }
  const index = rule.names.indexOf(text.toLowerCase());
  if (index === -1) return null;
  return rule.min === 1 ? index + 1 : index === 0 && endsRange ? 7 : index;
};
