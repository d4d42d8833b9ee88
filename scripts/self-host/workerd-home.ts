// Everything in one workerd process, including edge and history: the app as Cloudflare runs it. For trying the product
// as deployed, and for systems without Unix sockets.

import { writeFileSync } from "node:fs";
import { WHOLE } from "../../domain/share.ts";
import type { Project } from "../build/project.ts";
import { ExitError } from "../exit-error.ts";
import type { DataDir } from "./data-dir.ts";
import { keepRunning, type Pace } from "./keep-running.ts";
import { storageOf } from "./processes.ts";
import type { Address, Served } from "./served.ts";
import { wholeConfig } from "./serving-config.ts";
import type { Exit } from "./supervised.ts";
import { startWorkerd } from "./workerd.ts";

const PACE: Pace = { firstMs: 100, maxMs: 10_000, healthyAfterMs: 10_000 };
const STOP_GRACE_MS = 2_000;
/** A process that died sooner than this never served. */
const EARLY_MS = 1_000;

export interface WorkerdHomePlan {
  readonly project: Project;
  readonly dir: DataDir;
  readonly environment: Record<string, string>;
  readonly processCount: number;
  readonly awaited: string | undefined;
}

export function startWorkerdHome(plan: WorkerdHomePlan, address: Address): Served {
  const { project, dir } = plan;
  if (plan.processCount > 1) throw new ExitError("SERVICE_PROCESSES needs the edge in Node: remove --edge workerd.");
  const environment: Record<string, string> =
    plan.awaited === undefined ? plan.environment : { ...plan.environment, SERVICE_AWAITED_WORKER: plan.awaited };
  const serving = {
    project,
    storage: storageOf(dir, WHOLE),
    configFile: dir.servingConfig,
    environment: Object.keys(environment),
  };
  writeFileSync(dir.servingConfig, wholeConfig(serving, dir, address), { mode: 0o600 });
  const startedAt = performance.now();
  let early: Exit | null = null;
  const kept = keepRunning("workerd", PACE, () => {
    const running = startWorkerd(dir.servingConfig, environment);
    running.exited
      .then((exit) => {
        if (performance.now() - startedAt < EARLY_MS) early ??= exit;
      })
      .catch(() => {
        early ??= { code: null, signal: null };
      });
    return running;
  });
  return {
    url: address.url,
    earlyExit: () => early,
    freeze: () => kept.current().freeze(),
    thaw: () => kept.current().thaw(),
    stop: () => kept.stop(STOP_GRACE_MS),
  };
}
