// The part of vitest that the simulation's tests use, for tests that are run a thousand times in one thread.

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

export const test = (name: string, run: Test["run"]): void => {
  collected.push({ name, run });
};

export const expect = (value: unknown) => ({
  toBe: (wanted: unknown): void => {
    if (!Object.is(value, wanted)) throw new Error(`${String(value)} is not ${String(wanted)}`);
  },
});
