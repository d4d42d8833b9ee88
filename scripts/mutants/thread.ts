// A thread that tries changes: it loads the tests with a change and runs those that it is asked for until one fails.
// The main thread watches it, because a change may make a loop endless.

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
  /** The CPU that it took without a change. */
  readonly costMs: number;
  /** Whether its file reaches each of the places. */
  readonly reached: readonly boolean[];
}

export interface Trial {
  readonly file: string;
  readonly text: string;
  readonly checks: readonly Pick<Check, "file" | "index">[];
}

export type Answer =
  | { readonly kind: "ready"; readonly checks: readonly Check[] }
  /** By which test the change was noticed, and how; null if by none. */
  | { readonly kind: "tried"; readonly by: string | null };

const port = parentPort as NonNullable<typeof parentPort>;
const { testFiles, places, pulse } = workerData as ThreadData;

const answer = (message: Answer): void => port.postMessage(message);

const problemOf = async ({ name, run }: Test): Promise<string | null> => {
  Atomics.add(pulse, 0, 1);
  try {
    await run();
    return null;
  } catch (error) {
    return `${name}: ${error instanceof Error ? error.message : error}`;
  }
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

const measure = async (): Promise<Check[]> => {
  const sources = new Set(places.map((place) => place.file));
  const checks: Check[] = [];
  startWatching();
  for (const file of testFiles) {
    loadAgain(sources);
    await load(file);
    const costs: { name: string; costMs: number }[] = [];
    for (const test of takeTests()) {
      const startedMs = cpuMs();
      const problem = await problemOf(test);
      if (problem !== null) throw new Error(`It fails without a change: ${problem}`);
      costs.push({ name: test.name, costMs: cpuMs() - startedMs });
    }
    const reached = takeReached(places);
    checks.push(...costs.map((cost, index) => ({ file, index, reached, ...cost })));
  }
  stopWatching();
  return checks;
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
      const problem = await problemOf(loaded.get(check.file)?.[check.index] as Test);
      if (problem !== null) return problem;
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
answer({ kind: "ready", checks: places.length === 0 ? [] : await measure() });
