// The simulation as tests: each scene, each recorded run and each seed is one. SEEDS says how many.

import { test } from "vitest";
import { type Plan, planOf } from "../simulation/plan.ts";
import { loadTenant } from "../simulation/platform/platform.ts";
import { REGRESSIONS } from "../simulation/regressions/regressions.ts";
import { runPlan } from "../simulation/run.ts";
import { Scene } from "../simulation/scenes/scene.ts";
import { SCENES } from "../simulation/scenes/scenes.ts";

const SEEDS = Number(process.env.SEEDS ?? 25);

const holds = (name: string, planned: () => Plan): void =>
  test(name, async () => {
    const violation = await runPlan(planned());
    if (violation !== null) throw new Error(`after step ${violation.step}: ${violation.what}`);
  });

await loadTenant();
for (const { what, shown } of SCENES) test(what, () => Scene.of(shown));
for (const { found, plan } of REGRESSIONS) holds(found, () => plan);
for (let seed = 1; seed <= SEEDS; seed += 1) holds(`seed ${seed}`, () => planOf(seed));
