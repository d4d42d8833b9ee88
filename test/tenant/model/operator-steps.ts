// The steps of operators: pause and resume workers, engage and clear the killswitch, change the config.

import { halted, isLeased } from "./job-state.ts";
import { Contradiction, DEFAULT_LIMITS, type Limits, type Model } from "./model.ts";
import { Step } from "./step.ts";
import type { System } from "./system.ts";
import { resumed } from "./worker-state.ts";

const FULL_HALT = 4;

export class Hold extends Step {
  readonly #instance: string;
  readonly #isPausing: boolean;

  constructor(instance: string, isPausing: boolean) {
    super();
    this.#instance = instance;
    this.#isPausing = isPausing;
  }

  async take(model: Model, system: System): Promise<void> {
    const path = `/api/workers/${this.#instance}/${this.#isPausing ? "pause" : "resume"}`;
    const { status } = await system.post(path, this.#isPausing ? { reason: "by hand" } : undefined);
    const worker = model.workers.get(this.#instance);
    const expected = model.level >= FULL_HALT ? 503 : worker === undefined ? 404 : 200;
    if (status !== expected) throw new Contradiction(`${path} got ${status}, not ${expected}`);
    if (worker === undefined || status !== 200) return;
    model.workers.set(this.#instance, this.#isPausing ? { ...worker, pause: "by hand" } : resumed(worker));
  }

  words() {
    return [this.#isPausing ? "pause" : "resume", this.#instance];
  }
}

export class Throw extends Step {
  readonly #level: number;

  constructor(level: number) {
    super();
    this.#level = level;
  }

  async take(model: Model, system: System): Promise<void> {
    const open = [...model.jobs].filter(([, states]) => states.some(isLeased)).map(([id]) => model.known(id));
    const isSure = [...model.jobs.values()].every((states) => states.length === 1);
    const answer = await system.world.ok("POST", "/killswitch", { level: this.#level, reason: "by the model" });
    if (this.#level === 0) return;
    if (model.level === 0) Object.assign(model, { haltedJobs: 0, pausedWorkers: 0 });
    model.level = this.#level;
    model.changeAll((job) => halted(job, this.#level));
    for (const worker of model.workers.values()) model.workers.set(worker.instance, { ...worker, isHalted: true });
    model.pausedWorkers = model.workers.size;
    model.haltedJobs = isSure ? model.haltedJobs + open.length : answer.halted_jobs;
    if (!isSure) return;
    for (const { id, lease, worker } of open) await system.isToldToDrop(worker ?? "", id, lease);
  }

  words() {
    return ["killswitch to level", this.#level];
  }
}

export class Clear extends Step {
  readonly #isResuming: boolean;

  constructor(isResuming: boolean) {
    super();
    this.#isResuming = isResuming;
  }

  async take(model: Model, system: System): Promise<void> {
    await system.world.ok("DELETE", `/killswitch${this.#isResuming ? "?resume_all=true" : ""}`);
    Object.assign(model, { level: 0, haltedJobs: 0, pausedWorkers: 0 });
    model.changeAll((job) => ({ ...job, isPutBack: false }));
    if (!this.#isResuming) return;
    for (const [instance, worker] of model.workers) model.workers.set(instance, { ...worker, isHalted: false });
  }

  words() {
    return ["clear the killswitch", this.#isResuming && "and resume all"];
  }
}

export const LIMITING = "p takes one job";

/** By name: the document, and what it means to the model. */
export const CONFIGS: Readonly<Record<string, { readonly document: unknown; readonly limits: Limits }>> = {
  defaults: { document: {}, limits: DEFAULT_LIMITS },
  "one attempt": { document: { jobs: { max_attempts: 1 } }, limits: { maxAttempts: 1, rateLimit: null } },
  [LIMITING]: {
    document: { providers: { p: { rate_limit: { max_concurrent: 1, retry_after_seconds: 8, max_retries: 1 } } } },
    limits: { maxAttempts: 5, rateLimit: { maxConcurrent: 1, retryAfterMs: 8_000, maxRetries: 1 } },
  },
};

export class Configure extends Step {
  readonly #name: string;

  constructor(name: string) {
    super();
    this.#name = name;
  }

  async take(model: Model, system: System): Promise<void> {
    const { document, limits } = CONFIGS[this.#name] ?? { document: {}, limits: DEFAULT_LIMITS };
    const { status } = await system.world.put("/config", document);
    const expected = model.level >= FULL_HALT ? 503 : 200;
    if (status !== expected) throw new Contradiction(`PUT /config got ${status}, not ${expected}`);
    if (status === 200) model.limits = limits;
  }

  words() {
    return ["configure", this.#name];
  }
}
