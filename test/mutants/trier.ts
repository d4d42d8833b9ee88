// Tries changes in a thread: a change is noticed by a test that fails, that never ends, or that takes far more CPU than
// without it. Time on the clock says nothing, because other processes may have the machine.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Worker } from "node:worker_threads";
import { ROOT } from "../../self-host/run-command.ts";
import type { Place } from "./reach.ts";
import type { Answer, Check, ThreadData, Trial } from "./thread.ts";

const LOOK_EVERY_MS = 250;
/** The least CPU that a test may take before it counts as endless, and how many times its own cost. */
const PATIENCE_MS = 5_000;
const PATIENCE_FACTOR = 20;
/** Each trial leaves the modules that it loaded in memory. */
const TRIALS_A_THREAD = 50;
/** How many tests show that what is loaded again still passes. */
const SANE_CHECKS = 10;

/** A check is known by its number. */
const OTHER_TESTS = "The tests have changed since they were measured: run this where nobody edits them.";

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

type Ready = Extract<Answer, { kind: "ready" }>;
type Changed = Pick<Trial, "file" | "text">;

interface Ended {
  readonly kind: "ended";
  readonly why: string;
}

export class Trier {
  readonly #testFiles: readonly string[];
  readonly #pulse = new Int32Array(new SharedArrayBuffer(4));
  #thread: Worker | null = null;
  #trials = 0;
  #checks: readonly Check[] = [];
  /** As they were when the first thread loaded them. */
  #tests: readonly string[] | null = null;
  /** How many changes each check noticed. */
  readonly #noticed = new Map<Check, number>();

  constructor(testFiles: readonly string[]) {
    this.#testFiles = testFiles;
  }

  /**
   * Runs all tests once without a change and keeps which of the places each reaches; one that fails is left out. The
   * others must pass again once a file is loaded again as it is: otherwise everything would count as noticed.
   */
  async measure(places: readonly Place[]): Promise<void> {
    const { checks, leftOut } = await this.#start(places);
    this.#checks = checks;
    for (const problem of leftOut) console.log(`LEFT OUT  ${problem}`);
    const [first] = places;
    if (first === undefined) return;
    const text = await readFile(path.join(ROOT, first.file), "utf8");
    const problem = await this.#try({ file: first.file, text }, this.#reaching(0).slice(0, SANE_CHECKS));
    if (problem !== null) throw new Error(`It fails when it is loaded again without a change: ${problem}`);
  }

  /** By which test a change is noticed; null if by none. `place`: its number in what was measured. */
  async noticedBy(place: number, change: Changed): Promise<string | null> {
    const checks = this.#reaching(place);
    if (checks.length === 0) return null;
    if (this.#thread === null || this.#trials >= TRIALS_A_THREAD) await this.#start([]);
    this.#trials += 1;
    return this.#try(change, checks);
  }

  async stop(): Promise<void> {
    await this.#thread?.terminate();
    this.#thread = null;
  }

  async #start(places: readonly Place[]): Promise<Ready> {
    await this.stop();
    this.#trials = 0;
    const workerData: ThreadData = { testFiles: this.#testFiles, places, pulse: this.#pulse };
    this.#thread = new Worker(new URL("./thread.ts", import.meta.url), { workerData });
    const answer = await answerOf(this.#thread);
    if (answer.kind !== "ready") throw new Error(answer.kind === "ended" ? answer.why : "the thread answers nothing");
    this.#tests ??= answer.tests;
    if (!isDeepStrictEqual(answer.tests, this.#tests)) throw new Error(OTHER_TESTS);
    return answer;
  }

  /** First those that are quick, or noticed much so far. */
  #reaching(place: number): Check[] {
    const weight = (check: Check): number => (1 + check.elapsedMs) / (1 + (this.#noticed.get(check) ?? 0));
    return this.#checks.filter(({ reached }) => reached[place]).sort((one, other) => weight(one) - weight(other));
  }

  async #try({ file, text }: Changed, checks: readonly Check[]): Promise<string | null> {
    const trial: Trial = { file, text, checks: checks.map(({ file, index }) => ({ file, index })) };
    const thread = this.#thread as Worker;
    Atomics.store(this.#pulse, 0, 0);
    const look = watch(this.#pulse, checks, () => void thread.terminate());
    thread.postMessage(trial);
    const answer = await answerOf(thread);
    clearInterval(look);
    if (answer.kind === "tried") {
      const check = answer.by === null ? undefined : checks[Atomics.load(this.#pulse, 0) - 1];
      if (check !== undefined) this.#noticed.set(check, (this.#noticed.get(check) ?? 0) + 1);
      return answer.by;
    }
    this.#thread = null;
    return answer.kind === "ended" ? answer.why : "the thread began again";
  }
}

/** The thread's next message, or how it ended. */
const answerOf = (thread: Worker): Promise<Answer | Ended> =>
  new Promise((resolve) => {
    const settle = (answer: Answer | Ended): void => {
      for (const [event, listener] of Object.entries(listeners)) thread.off(event, listener);
      resolve(answer);
    };
    const listeners = {
      message: settle,
      error: ({ message }: Error) => settle({ kind: "ended", why: message }),
      exit: () => settle({ kind: "ended", why: "a test never ends" }),
    };
    for (const [event, listener] of Object.entries(listeners)) thread.on(event, listener);
  });

/** Calls `tooLong` once the test under way has taken more CPU than it may. */
const watch = (pulse: Int32Array, checks: readonly Check[], tooLong: () => void): NodeJS.Timeout => {
  let begun = -1;
  let since = 0;
  return setInterval(() => {
    const now = Atomics.load(pulse, 0);
    if (now !== begun) {
      begun = now;
      since = cpuMs();
    }
    const check = checks[Math.max(0, begun - 1)];
    if (check !== undefined && cpuMs() - since > PATIENCE_MS + PATIENCE_FACTOR * check.costMs) tooLong();
  }, LOOK_EVERY_MS);
};
