// The part of vitest that plain tests use, for tests that are run a thousand times in one thread.

import { setTimeout as wait } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

type Body = (...values: never[]) => unknown;

export interface Test {
  readonly name: string;
  readonly run: () => unknown;
}

/** The hooks of a `describe`, or of a file. */
class Group {
  readonly around: Group | null;
  readonly beforeAll: Body[] = [];
  readonly beforeEach: Body[] = [];
  readonly afterEach: Body[] = [];
  #ready: Promise<void> | null = null;

  constructor(around: Group | null) {
    this.around = around;
  }

  /** Outer hooks come first; those of `beforeAll` run once. */
  async enter(): Promise<void> {
    await this.around?.enter();
    this.#ready ??= inTurn(this.beforeAll);
    await this.#ready;
    await inTurn(this.beforeEach);
  }

  async leave(): Promise<void> {
    await inTurn(this.afterEach);
    await this.around?.leave();
  }
}

const inTurn = async (bodies: readonly Body[]): Promise<void> => {
  for (const body of bodies) await body();
};

let collected: Test[] = [];
let group = new Group(null);

/** The tests that were defined since the last call. */
export const takeTests = (): Test[] => {
  const taken = collected;
  collected = [];
  group = new Group(null);
  return taken;
};

const within = async (group: Group, body: () => unknown): Promise<void> => {
  await group.enter();
  try {
    await body();
  } finally {
    await group.leave();
  }
};

const defineGroup = (_name: string, body: () => void): void => {
  const around = group;
  group = new Group(around);
  body();
  group = around;
};

/** Between name and body there may be settings, as in vitest. */
const define = (name: string, ...given: readonly unknown[]): void => {
  const body = given.find((one) => typeof one === "function") as Body;
  const around = group;
  collected.push({ name, run: () => within(around, () => body()) });
};

type Define = (name: string, body: Body) => void;

const eachWith =
  (define: Define) =>
  (rows: readonly unknown[]): Define =>
  (name, body) => {
    for (const row of rows) define(name, () => body(...((Array.isArray(row) ? row : [row]) as never[])));
  };

const skipIf = (isSkipped: boolean): Define => (isSkipped ? () => {} : define);

export const describe = Object.assign(defineGroup, { each: eachWith(defineGroup) });
export const test = Object.assign(define, { each: eachWith(define), skipIf });
export const it = test;

export const beforeAll = (body: Body): unknown => group.beforeAll.push(body);
export const beforeEach = (body: Body): unknown => group.beforeEach.push(body);
export const afterEach = (body: Body): unknown => group.afterEach.push(body);
/** What a file leaves behind ends with the thread. */
export const afterAll = (): void => {};

/** A value that an expected one stands for. */
class Fitting {
  readonly fits: (value: unknown) => boolean;

  constructor(fits: (value: unknown) => boolean) {
    this.fits = fits;
  }
}

type Constructor = abstract new (...values: never[]) => unknown;

const isOfType =
  (type: Constructor) =>
  (value: unknown): boolean =>
    typeof value === type.name.toLowerCase() || value instanceof type;

const isPlain = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** `isPart`: the value may have more fields than named. An undefined field counts as missing. */
const fits = (value: unknown, wanted: unknown, isPart: boolean): boolean => {
  if (wanted instanceof Fitting) return wanted.fits(value);
  if (!isPlain(wanted) || !isPlain(value)) return Object.is(value, wanted);
  if (wanted instanceof Map || wanted instanceof Set) return isDeepStrictEqual(value, wanted);
  if (Array.isArray(wanted) !== Array.isArray(value)) return false;
  if (Array.isArray(wanted) && wanted.length !== (value as unknown as unknown[]).length) return false;
  const names = new Set([...Object.keys(wanted), ...(isPart ? [] : Object.keys(value))]);
  return [...names].every((name) => fits(value[name], wanted[name], isPart));
};

const contains = (value: unknown, part: unknown): boolean =>
  typeof value === "string" ? value.includes(String(part)) : [...(value as Iterable<unknown>)].includes(part);

type Thrown = string | RegExp | Fitting;

const isThrown = (error: unknown, wanted?: Thrown): boolean => {
  if (wanted instanceof Fitting) return wanted.fits(error);
  return wanted === undefined || String((error as Error).message).match(wanted) !== null;
};

const throws = (body: unknown, wanted?: Thrown): boolean => {
  // What a promise was rejected with.
  if (typeof body !== "function") return isThrown(body, wanted);
  try {
    body();
    return false;
  } catch (error) {
    return isThrown(error, wanted);
  }
};

const hasProperty = (value: unknown, name: string, ...wanted: readonly unknown[]): boolean =>
  isPlain(value) && name in value && (wanted.length === 0 || fits(value[name], wanted[0], false));

const CHECKS = {
  toBe: (value: unknown, wanted: unknown) => Object.is(value, wanted),
  toEqual: (value: unknown, wanted: unknown) => fits(value, wanted, false),
  toMatchObject: (value: unknown, wanted: unknown) => fits(value, wanted, true),
  toHaveProperty: hasProperty,
  toBeNull: (value: unknown) => value === null,
  toBeDefined: (value: unknown) => value !== undefined,
  toBeUndefined: (value: unknown) => value === undefined,
  toBeTruthy: (value: unknown) => Boolean(value),
  toBeNaN: (value: unknown) => Number.isNaN(value),
  toBeTypeOf: (value: unknown, type: string) => typeof value === type,
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

type Check = (value: unknown, ...given: unknown[]) => boolean;
type Checks = Record<keyof typeof CHECKS, (...given: unknown[]) => void>;
type AwaitedChecks = Record<keyof typeof CHECKS, (...given: unknown[]) => Promise<void>>;

const verify = (name: string, value: unknown, given: readonly unknown[], isWanted: boolean): void => {
  if ((CHECKS[name as keyof typeof CHECKS] as Check)(value, ...given) !== isWanted) throw new Error(`${name} fails`);
};

const NAMES = Object.keys(CHECKS);

const checksOf = (value: unknown, isWanted: boolean): Checks =>
  Object.fromEntries(
    NAMES.map((name) => [name, (...given: unknown[]) => verify(name, value, given, isWanted)]),
  ) as Checks;

const awaitedChecksOf = (settle: (check: (value: unknown) => void) => Promise<void>): AwaitedChecks =>
  Object.fromEntries(
    NAMES.map((name) => [name, (...given: unknown[]) => settle((value) => verify(name, value, given, true))]),
  ) as AwaitedChecks;

const PATIENCE_MS = 15_000;
const TRY_AGAIN_MS = 20;

/** Tries again until it passes; in the end it says why not. */
const patiently = async (attempt: () => unknown): Promise<void> => {
  const untilAt = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (performance.now() > untilAt) throw error;
      await wait(TRY_AGAIN_MS);
    }
  }
};

const rejectionOf = async (promise: Promise<unknown>): Promise<unknown> => {
  const rejected = await promise.then(
    () => null,
    (error: unknown) => ({ error }),
  );
  if (rejected === null) throw new Error("it is not rejected");
  return rejected.error;
};

export const expect = Object.assign(
  (value: unknown) => ({
    ...checksOf(value, true),
    not: checksOf(value, false),
    rejects: awaitedChecksOf(async (check) => check(await rejectionOf(value as Promise<unknown>))),
  }),
  {
    any: (type: Constructor) => new Fitting(isOfType(type)),
    stringContaining: (text: string) => new Fitting((value) => typeof value === "string" && value.includes(text)),
    stringMatching: (words: RegExp) => new Fitting((value) => typeof value === "string" && words.test(value)),
    objectContaining: (part: unknown) => new Fitting((value) => fits(value, part, true)),
    arrayContaining: (parts: readonly unknown[]) =>
      new Fitting(
        (value) => Array.isArray(value) && parts.every((part) => value.some((one) => fits(one, part, false))),
      ),
    poll: (read: () => unknown) => awaitedChecksOf((check) => patiently(async () => check(await read()))),
    fail: (message: string) => {
      throw new Error(message);
    },
  },
);

const replaced: (() => void)[] = [];

/** The last replacement is undone first. */
const restore = (): void => {
  for (const undo of replaced.splice(0).reverse()) undo();
};

const replaceProperty = (place: Record<string, unknown>, name: string, value: unknown): void => {
  const former = place[name];
  place[name] = value;
  replaced.push(() => {
    place[name] = former;
  });
};

export const vi = {
  waitFor: patiently,
  stubGlobal: (name: string, value: unknown) =>
    replaceProperty(globalThis as unknown as Record<string, unknown>, name, value),
  unstubAllGlobals: restore,
  spyOn: (place: Record<string, unknown>, name: string) => ({
    mockReturnValue: (value: unknown) => replaceProperty(place, name, () => value),
    mockImplementation: (body: Body) => replaceProperty(place, name, body),
  }),
  restoreAllMocks: restore,
};
