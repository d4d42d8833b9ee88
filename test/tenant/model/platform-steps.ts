// What the platform does to an object: puts it to sleep, kills it, lets time pass, fires its alarm late, early or
// twice.

import { type JobState, shownStatus } from "./job-state.ts";
import { Contradiction, type Model } from "./model.ts";
import { Step } from "./step.ts";
import type { System } from "./system.ts";

export class Sleep extends Step {
  override readonly isSeen = false;
  readonly #areSocketsKept: boolean;

  constructor(areSocketsKept: boolean) {
    super();
    this.#areSocketsKept = areSocketsKept;
  }

  async take(model: Model, system: System): Promise<void> {
    await system.evict(this.#areSocketsKept);
    model.forget(this.#areSocketsKept);
  }

  words() {
    return [this.#areSocketsKept ? "the object sleeps" : "a deploy: sockets close"];
  }
}

export class Crash extends Step {
  override readonly isSeen = false;

  async take(model: Model, system: System): Promise<void> {
    await system.abort();
    model.forget(false);
  }

  words() {
    return ["all objects are aborted"];
  }
}

/** Who fires the alarm for what is due; whatever comes next must make up for late and lost ones. */
export type Alarm = "by the platform" | "by hand" | "late" | "lost";

export class Pass extends Step {
  readonly #seconds: number;
  readonly #alarm: Alarm;

  constructor(seconds: number, alarm: Alarm) {
    super();
    this.#seconds = seconds;
    this.#alarm = alarm;
  }

  async take(model: Model, system: System): Promise<void> {
    const ms = this.#seconds * 1000;
    const isLeft = this.#alarm === "late" || this.#alarm === "lost";
    await system.age(ms, this.#alarm === "lost" ? "lost" : isLeft ? "held" : "nearer");
    model.age(ms);
    model.forget(true);
    countExpired(model);
    if (isLeft) return;
    const nowAt = Date.now();
    await system.sweptBy(nowAt, this.#alarm === "by hand");
    model.expand();
    model.sweep(nowAt);
  }

  words() {
    return [`${this.#seconds} s pass, alarm ${this.#alarm}`];
  }
}

/** A worker may be paused for leases that it let expire; the model counts what may have expired. */
const countExpired = (model: Model): void => {
  const nowAt = Date.now();
  model.expand(nowAt);
  for (const states of model.jobs.values()) {
    const [first] = states;
    const worker = model.workers.get(first?.worker ?? "");
    if (first?.status !== "assigned" || states.length === 1 || worker === undefined) continue;
    model.workers.set(worker.instance, { ...worker, expiredLeases: worker.expiredLeases + 1 });
  }
};

/** The alarm when nothing is due, or when something is. */
export class Ring extends Step {
  readonly #times: number;

  constructor(times: number) {
    super();
    this.#times = times;
  }

  async take(model: Model, system: System): Promise<void> {
    for (let time = 0; time < this.#times; time += 1) await system.runAlarm();
    model.expand();
  }

  words() {
    return ["the alarm rings", this.#times > 1 && `${this.#times} times`];
  }
}

/** Reading history: it is drained first, and agrees with the object. */
export class ReadHistory extends Step {
  async take(model: Model, system: System): Promise<void> {
    const { jobs, total } = await system.world.ok("GET", "/api/jobs?limit=200");
    if (total !== model.jobs.size)
      throw new Contradiction(`history lists ${total} jobs, and ${model.jobs.size} were made`);
    model.expand();
    for (const job of jobs) {
      const states = model.jobs.get(job.id) ?? [];
      if (!states.some((one: JobState) => shownStatus(one) === `${job.status} lease ${job.lease}`))
        throw new Contradiction(
          `history has job ${job.id} as ${job.status}, it is ${states.map(shownStatus).join(" or ")}`,
        );
    }
  }

  words() {
    return ["history is read"];
  }
}
