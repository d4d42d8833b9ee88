// The simulator as a process: `--seed N` replays one run, `--seeds N [--from M]` runs a number of them, `--minutes N`
// or `--seconds N` as many as fit, each after the scenes and the regressions. The first failing seed is printed, shrunk and ends the
// run, or with `--keep-going` only printed; the exit code is then 1.

import { parseArgs } from "node:util";
import { type Plan, planOf } from "./plan.ts";
import { loadTenant } from "./platform/platform.ts";
import type { Regression } from "./regressions/regression.ts";
import { REGRESSIONS } from "./regressions/regressions.ts";
import { runPlan, type Violation } from "./run.ts";
import { Scene } from "./scenes/scene.ts";
import { SCENES } from "./scenes/scenes.ts";
import { type Failure, shrink } from "./shrink.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    minutes: { type: "string" },
    seconds: { type: "string" },
    "no-shrink": { type: "boolean", default: false },
    "keep-going": { type: "boolean", default: false },
  },
});

const report = async (seed: number, failure: Failure): Promise<void> => {
  console.log(`seed ${seed} fails after step ${failure.violation.step}: ${failure.violation.what}`);
  if (values["no-shrink"] || values["keep-going"]) return;
  const { plan, violation } = await shrink(failure);
  console.log(`shrunk to ${plan.steps.length} steps: ${violation.what}`);
  for (const step of plan.steps) console.log(`  ${JSON.stringify(step)},`);
  console.log(`replay it: npm run simulate -- --seed ${seed}`);
};

/** The first plan that fails, if any. */
const replay = async (regressions: readonly Regression[]): Promise<boolean> => {
  for (const { found, plan } of regressions) {
    const violation = await runPlan(plan);
    if (violation === null) continue;
    console.log(`again: ${found}\nafter step ${violation.step}: ${violation.what}`);
    return false;
  }
  return true;
};

/** Whether every promise holds until its instant. */
const watchScenes = async (): Promise<boolean> => {
  for (const { what, shown } of SCENES) {
    const wrong = await Scene.of(shown).then(
      () => null,
      (error: Error) => error.message,
    );
    if (wrong === null) continue;
    console.log(`not so: ${what}\n${wrong}`);
    return false;
  }
  return true;
};

const PROGRESS_MS = 60_000;

/** Counts what was run, and tells it once a minute in a long run. */
class Tally {
  readonly #startedAt = performance.now();
  #toldAt = this.#startedAt;
  runs = 0;
  steps = 0;
  failures = 0;

  get elapsedMs(): number {
    return performance.now() - this.#startedAt;
  }

  note({ steps }: Plan, violation: Violation | null): void {
    this.runs += 1;
    this.steps += steps.length;
    if (violation !== null) this.failures += 1;
    if (performance.now() - this.#toldAt < PROGRESS_MS) return;
    this.#toldAt = performance.now();
    console.log(this.said);
  }

  get said(): string {
    const { user, system } = process.cpuUsage();
    const rate = this.steps / ((user + system) / 1e6);
    return `${this.runs} runs, ${this.steps} steps in ${(this.elapsedMs / 1000).toFixed(1)} s, ${rate.toFixed(0)} a CPU second`;
  }
}

const explore = async (first: number, count: number, limitMs: number): Promise<boolean> => {
  const tally = new Tally();
  for (let seed = first; seed < first + count && tally.elapsedMs < limitMs; seed += 1) {
    const plan = planOf(seed);
    const violation = await runPlan(plan);
    tally.note(plan, violation);
    if (violation === null) continue;
    await report(seed, { plan, violation });
    if (!values["keep-going"]) return false;
  }
  console.log(`${tally.said}: ${tally.failures === 0 ? "every invariant held" : `${tally.failures} runs failed`}`);
  return tally.failures === 0;
};

const limitOf = ({ minutes, seconds }: { minutes?: string; seconds?: string }): number =>
  minutes === undefined && seconds === undefined
    ? Number.POSITIVE_INFINITY
    : Number(minutes ?? 0) * 60_000 + Number(seconds ?? 0) * 1000;

await loadTenant();
const limitMs = limitOf(values);
const count = values.seed !== undefined ? 1 : Number(values.seeds ?? (limitMs < Number.POSITIVE_INFINITY ? 1e9 : 200));
const isFine =
  (values.seed !== undefined || (await watchScenes())) &&
  (await replay(values.seed === undefined ? REGRESSIONS : [])) &&
  (await explore(Number(values.seed ?? values.from), count, limitMs));
process.exitCode = isFine ? 0 : 1;
