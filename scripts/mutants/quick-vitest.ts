// The part of vitest that plain tests use, for tests that are run a thousand times in one thread.

import { isDeepStrictEqual } from "node:util";

type Body = (...values: never[]) => unknown;

export interface Test {
  readonly name: string;
  readonly run: () => unknown;
}

let collected: Test[] = [];

/** The tests that were defined since the last call. */
export const takeTests = (): Test[] => {
  const taken = collected;
  collected = [];
  return taken;
};

export const describe = (_name: string, body: () => void): void => body();

/** Between name and body there may be settings, as in vitest. */
const define = (name: string, ...given: readonly unknown[]): void => {
  const body = given.find((one) => typeof one === "function") as Body;
  collected.push({ name, run: () => body() });
};

const each =
  (rows: readonly unknown[]) =>
  (name: string, body: Body): void => {
    for (const row of rows) define(name, () => body(...((Array.isArray(row) ? row : [row]) as never[])));
  };

export const test = Object.assign(define, { each });
export const it = test;

class Containing {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Constructor = abstract new (...values: never[]) => unknown;

class OfType {
  readonly type: Constructor;

  constructor(type: Constructor) {
    this.type = type;
  }

  fits(value: unknown): boolean {
    return typeof value === this.type.name.toLowerCase() || value instanceof this.type;
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** `isPart`: the value may have more fields than named. An undefined field counts as missing. */
const fits = (value: unknown, wanted: unknown, isPart: boolean): boolean => {
  if (wanted instanceof Containing) return typeof value === "string" && value.includes(wanted.text);
  if (wanted instanceof OfType) return wanted.fits(value);
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
  any: (type: Constructor) => new OfType(type),
  stringContaining: (text: string) => new Containing(text),
  fail: (message: string) => {
    throw new Error(message);
  },
});
