// A thread that tries changes: it loads the tests with a change and runs those that it is asked for until one fails.
// The main thread watches it, because a change may make a loop endless.

import { clearInterval, setInterval } from "node:timers";
import { parentPort, workerData } from "node:worker_threads";
import { change, load, loadAgain } from "./module-graph.ts";
import { type Test, takeTests } from "./quick-vitest.ts";
import { type Place, startWatching, stopWatching, takeReached } from "./reach.ts";

export interface ThreadData {
  readonly testFiles: readonly string[];
  /** To be measured first, if any. */
  readonly places: readonly Place[];
  /** One number, which grows with each test that begins. */
  readonly pulse: Int32Array;
}

export interface Check {
  readonly file: string;
  /** Its number within the file. */
  readonly index: number;
  readonly name: string;
  /** What it took without a change: of the CPU, and on the clock. */
  readonly costMs: number;
  readonly elapsedMs: number;
  /** Whether it reaches each of the places. */
  readonly reached: readonly boolean[];
}

export interface Trial {
  readonly file: string;
  readonly text: string;
  readonly checks: readonly Pick<Check, "file" | "index">[];
}

export type Answer =
  /** `tests`: the names of all. `leftOut`: those that fail without a change. */
  | {
      readonly kind: "ready";
      readonly tests: readonly string[];
      readonly checks: readonly Check[];
      readonly leftOut: readonly string[];
    }
  /** By which test the change was noticed, and how; null if by none. */
  | { readonly kind: "tried"; readonly by: string | null };

const port = parentPort as NonNullable<typeof parentPort>;
const { testFiles, places, pulse } = workerData as ThreadData;

const answer = (message: Answer): void => port.postMessage(message);

const TICK_MS = 100;
/** Of a test that waits for something: ticks pass only while this thread has the machine. */
const MAX_TICKS = 150;

class WaitsForEver extends Error {}

const bounded = (run: Test["run"]): Promise<void> =>
  new Promise((resolve, reject) => {
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
      if (ticks > MAX_TICKS) reject(new WaitsForEver("it waits for ever"));
    }, TICK_MS);
    Promise.resolve(run())
      .then(() => resolve(), reject)
      .finally(() => clearInterval(ticking));
  });

type Problem = { readonly what: string; readonly isEndless: boolean };

const problemOf = async ({ name, run }: Test): Promise<Problem | null> => {
  Atomics.add(pulse, 0, 1);
  try {
    await bounded(run);
    return null;
  } catch (error) {
    const what = `${name}: ${error instanceof Error ? error.message : error}`;
    return { what, isEndless: error instanceof WaitsForEver };
  }
};

/** Where only a busy machine made a test fail, it passes when it is run again. */
const certainProblemOf = async (test: Test): Promise<Problem | null> => {
  const problem = await problemOf(test);
  if (problem === null || problem.isEndless) return problem;
  Atomics.sub(pulse, 0, 1);
  return problemOf(test);
};

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

const original = new Map<string, readonly Test[]>();

const loadAll = async (): Promise<void> => {
  for (const file of testFiles) {
    await load(file);
    original.set(file, takeTests());
  }
};

interface Measured {
  readonly checks: Check[];
  readonly leftOut: string[];
}

const measureTest = async (test: Test, file: string, index: number, atLoad: readonly boolean[]): Promise<Check> => {
  const startedMs = cpuMs();
  const startedAt = performance.now();
  const problem = await certainProblemOf(test);
  if (problem !== null) throw new Error(problem.what);
  const reached = takeReached(places).map((isReached, place) => isReached || atLoad[place] === true);
  const { name } = test;
  return { file, index, name, costMs: cpuMs() - startedMs, elapsedMs: performance.now() - startedAt, reached };
};

const measure = async (): Promise<Measured> => {
  const measured: Measured = { checks: [], leftOut: [] };
  startWatching();
  for (const file of testFiles) {
    // What runs while modules are loaded counts for each file that loads them.
    loadAgain();
    await load(file);
    const atLoad = takeReached(places);
    for (const [index, test] of takeTests().entries())
      await measureTest(test, file, index, atLoad).then(
        (check) => measured.checks.push(check),
        ({ message }: Error) => measured.leftOut.push(`${file}: ${message}`),
      );
  }
  stopWatching();
  return measured;
};

const attempt = async ({ file, text, checks }: Trial): Promise<string | null> => {
  try {
    change(file, text);
    // A change that does not load leaves some.
    takeTests();
    const loaded = new Map(original);
    for (const tested of new Set(checks.map((check) => check.file))) {
      await load(tested);
      loaded.set(tested, takeTests());
    }
    for (const check of checks) {
      const problem = await certainProblemOf(loaded.get(check.file)?.[check.index] as Test);
      // What it waits for may come during a later test.
      if (problem?.isEndless) process.exit();
      if (problem !== null) return problem.what;
    }
    return null;
  } catch (error) {
    return `it does not load: ${error instanceof Error ? error.message : error}`;
  }
};

port.on("message", async (trial: Trial) => {
  // With nothing else to wait for, a test that never ends lets the thread end.
  port.unref();
  const by = await attempt(trial);
  port.ref();
  answer({ kind: "tried", by });
});

await loadAll();
const { checks, leftOut } = places.length === 0 ? { checks: [], leftOut: [] } : await measure();
const tests = [...original.values()].flatMap((ofFile) => ofFile.map(({ name }) => name));
answer({ kind: "ready", tests, checks, leftOut });
