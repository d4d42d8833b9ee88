// The simulator as a process: `--seed N` replays one run, `--seeds N [--from M]` runs a number of them, `--minutes N`
// or `--seconds N` as many as fit, each after the regressions. A failing seed is printed and shrunk; the exit code is
// then 1.

import { parseArgs } from "node:util";
import { planOf } from "./plan.ts";
import { loadTenant } from "./platform.ts";
import { REGRESSIONS, type Regression } from "./regressions.ts";
import { runPlan } from "./run.ts";
import { type Failure, shrink } from "./shrink.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    minutes: { type: "string" },
    seconds: { type: "string" },
    "no-shrink": { type: "boolean", default: false },
  },
});

const report = async (seed: number, failure: Failure): Promise<void> => {
  console.log(`seed ${seed} fails after step ${failure.violation.step}: ${failure.violation.what}`);
  if (values["no-shrink"]) return;
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

const explore = async (first: number, count: number, limitMs: number): Promise<boolean> => {
  const startedAt = performance.now();
  let steps = 0;
  let seed = first;
  for (; seed < first + count && performance.now() - startedAt < limitMs; seed += 1) {
    const plan = planOf(seed);
    const violation = await runPlan(plan);
    steps += plan.steps.length;
    if (violation === null) continue;
    await report(seed, { plan, violation });
    return false;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(`${seed - first} runs, ${steps} steps in ${seconds.toFixed(1)} s: every invariant held`);
  return true;
};

const limitOf = ({ minutes, seconds }: { minutes?: string; seconds?: string }): number =>
  minutes === undefined && seconds === undefined
    ? Number.POSITIVE_INFINITY
    : Number(minutes ?? 0) * 60_000 + Number(seconds ?? 0) * 1000;

await loadTenant();
const limitMs = limitOf(values);
const count = values.seed !== undefined ? 1 : Number(values.seeds ?? (limitMs < Number.POSITIVE_INFINITY ? 1e9 : 200));
const isFine =
  (await replay(values.seed === undefined ? REGRESSIONS : [])) &&
  (await explore(Number(values.seed ?? values.from), count, limitMs));
process.exitCode = isFine ? 0 : 1;
