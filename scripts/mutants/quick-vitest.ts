// The part of vitest that `test/domain` uses, for tests that are run a thousand times: a process starts in a tenth of a
// second, and ends at the first failure.

import { isDeepStrictEqual } from "node:util";

type Body = (...values: never[]) => unknown;

const waiting: (() => unknown)[] = [];

export const describe = (_name: string, body: () => void): void => body();

const define = (_name: string, body: Body): void => {
  waiting.push(() => body());
};

const each =
  (rows: readonly unknown[]) =>
  (_name: string, body: Body): void => {
    for (const row of rows) waiting.push(() => body(...((Array.isArray(row) ? row : [row]) as never[])));
  };

export const test = Object.assign(define, { each });
export const it = test;

/** Throws the first failing test's error. */
export const runAll = async (): Promise<void> => {
  if (waiting.length === 0) throw new Error("there are no tests");
  for (const run of waiting) await run();
};

class Containing {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** `isPart`: the value may have more fields than named. An undefined field counts as missing. */
const fits = (value: unknown, wanted: unknown, isPart: boolean): boolean => {
  if (wanted instanceof Containing) return typeof value === "string" && value.includes(wanted.text);
  if (!isPlain(wanted) || !isPlain(value)) return Object.is(value, wanted);
  if (wanted instanceof Map || wanted instanceof Set) return isDeepStrictEqual(value, wanted);
  if (Array.isArray(wanted) !== Array.isArray(value)) return false;
  if (Array.isArray(wanted) && wanted.length !== (value as unknown as unknown[]).length) return false;
  const names = new Set([...Object.keys(wanted), ...(isPart ? [] : Object.keys(value))]);
  return [...names].every((name) => fits(value[name], wanted[name], isPart));
};

const contains = (value: unknown, part: unknown): boolean =>
  typeof value === "string" ? value.includes(String(part)) : [...(value as Iterable<unknown>)].includes(part);

const throws = (body: () => unknown, words?: string | RegExp): boolean => {
  try {
    body();
    return false;
  } catch (error) {
    return words === undefined || (error as Error).message.match(words) !== null;
  }
};

const CHECKS = {
  toBe: (value: unknown, wanted: unknown) => Object.is(value, wanted),
  toEqual: (value: unknown, wanted: unknown) => fits(value, wanted, false),
  toMatchObject: (value: unknown, wanted: unknown) => fits(value, wanted, true),
  toBeNull: (value: unknown) => value === null,
  toBeUndefined: (value: unknown) => value === undefined,
  toBeGreaterThanOrEqual: (value: number, least: number) => value >= least,
  toBeLessThanOrEqual: (value: number, most: number) => value <= most,
  toBeGreaterThan: (value: number, less: number) => value > less,
  toBeLessThan: (value: number, more: number) => value < more,
  toBeCloseTo: (value: number, wanted: number, digits = 2) => Math.abs(value - wanted) < 10 ** -digits / 2,
  toHaveLength: (value: { length: number }, length: number) => value.length === length,
  toContain: contains,
  toContainEqual: (value: Iterable<unknown>, wanted: unknown) => [...value].some((one) => fits(one, wanted, false)),
  toMatch: (value: string, words: string | RegExp) => value.match(words) !== null,
  toThrow: throws,
} as const;

type Checks = Record<keyof typeof CHECKS, (...given: unknown[]) => void>;

const checksOf = (value: unknown, isWanted: boolean): Checks =>
  Object.fromEntries(
    Object.entries(CHECKS).map(([name, check]) => [
      name,
      (...given: unknown[]) => {
        if ((check as Body as (...all: unknown[]) => boolean)(value, ...given) !== isWanted)
          throw new Error(`${name} fails`);
      },
    ]),
  ) as Checks;

export const expect = Object.assign((value: unknown) => ({ ...checksOf(value, true), not: checksOf(value, false) }), {
  stringContaining: (text: string) => new Containing(text),
  fail: (message: string) => {
    throw new Error(message);
  },
});
