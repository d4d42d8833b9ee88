// The steps of workers: report presence, connect, claim, and report on leases that they hold, held or never had.

import type { LeasedJob, PresenceAnswer } from "../../../contract/fleet/worker.ts";
import * as jobs from "./job-state.ts";
import { isLeased, type JobState, type Outcome, type Span } from "./job-state.ts";
import { Contradiction, type Model } from "./model.ts";
import { pick, Step } from "./step.ts";
import type { System } from "./system.ts";
import { connected, heard, type Offer, reported, type WorkerState } from "./worker-state.ts";

/** Leases in an answer or a frame: the model must consider each possible. */
const takeOver = (model: Model, instance: string, given: readonly LeasedJob[]): void => {
  model.expand();
  for (const job of given) {
    if (job.assigned_worker !== instance || job.status !== "assigned")
      throw new Contradiction(`${instance} was handed job ${job.id}, ${job.status} with ${job.assigned_worker}`);
    model.observe(job);
  }
};

/** The jobs that a worker lists. */
export type Named = "nothing said" | "all it runs" | "none" | "all and one more";
const STRANGE_ID = "a-job-that-is-not";

export class Present extends Step {
  readonly #offer: Offer;
  readonly #named: Named;
  readonly #isOverSocket: boolean;

  constructor(offer: Offer, named: Named, isOverSocket: boolean) {
    super();
    this.#offer = offer;
    this.#named = named;
    this.#isOverSocket = isOverSocket;
  }

  async take(model: Model, system: System): Promise<void> {
    const { instance } = this.#offer;
    const mine = [...model.jobs].filter(([, states]) => states.some((one) => isLeased(one) && one.worker === instance));
    const ids = mine.map(([id]) => id);
    const named = this.#namedOf(ids);
    const socket = this.#isOverSocket ? system.sockets.get(instance) : undefined;
    const { provider, tags, concurrency } = this.#offer;
    const body = { instance, provider, concurrency, tags: tags.join(), ...(named === null ? {} : { jobs: named }) };
    const { answer, span } = await system.timed(async () => {
      if (socket !== undefined) return system.say(socket, { type: "presence", ...body });
      const { status, body: answered } = await system.post("/presence", body);
      return { ...answered, status };
    });
    if (answer.status !== 200) throw new Contradiction(`presence of ${instance} got ${answer.status}`);
    this.#hear(model, named, socket !== undefined, span);
    this.#judge(model, answer, named, mine.length > 0 && mine.some(([, states]) => states.length > 1) ? null : ids);
  }

  #namedOf(held: readonly string[]): string[] | null {
    if (this.#named === "nothing said") return null;
    if (this.#named === "none") return [];
    return this.#named === "all it runs" ? [...held] : [...held, STRANGE_ID];
  }

  #hear(model: Model, named: readonly string[] | null, isOverSocket: boolean, span: Span): void {
    const { instance } = this.#offer;
    if (named !== null) {
      model.changeAll((job) => {
        if (job.worker !== instance || !isLeased(job)) return job;
        const isNamed = named.includes(job.id);
        if (job.status === "assigned") return isNamed ? jobs.kept(job, span) : job;
        return isNamed ? jobs.beaten(job, span) : jobs.lost(job, model.limits.maxAttempts);
      });
    }
    const known = model.workers.get(instance);
    model.workers.set(instance, reported(known, this.#offer, isOverSocket, model.level > 0, span));
  }

  #judge(model: Model, answer: PresenceAnswer, named: readonly string[] | null, held: readonly string[] | null): void {
    takeOver(model, this.#offer.instance, answer.jobs);
    if (named === null || held === null) return;
    const halted = named.filter((id) => !held.includes(id));
    if (answer.halted.join() !== halted.join())
      throw new Contradiction(`${this.#offer.instance} is told to drop ${answer.halted}, not ${halted}`);
  }

  words() {
    const { instance, provider, tags, concurrency } = this.#offer;
    const offer = `${instance} of ${provider} offers ${tags.join("+") || "no tags"} x${concurrency}`;
    return [
      offer,
      this.#named !== "nothing said" && `working on ${this.#named}`,
      this.#isOverSocket && "over its socket",
    ];
  }
}

export class Connect extends Step {
  readonly #instance: string;

  constructor(instance: string) {
    super();
    this.#instance = instance;
  }

  /** A worker that has not reported yet is unknown; its first report registers it. */
  override check(model: Readonly<Model>): boolean {
    return model.workers.has(this.#instance);
  }

  async take(model: Model, system: System): Promise<void> {
    const older = system.sockets.get(this.#instance);
    const { span } = await system.timed(() => system.connect(this.#instance));
    if (older !== undefined) await older.closed;
    const worker = model.workers.get(this.#instance);
    const [welcome] = system.sockets.get(this.#instance)?.messages ?? [];
    if (worker !== undefined) model.workers.set(this.#instance, connected(worker, span));
    takeOver(model, this.#instance, welcome.jobs);
  }

  words() {
    return [this.#instance, "connects"];
  }
}

export class HangUp extends Step {
  readonly #instance: string;

  constructor(instance: string) {
    super();
    this.#instance = instance;
  }

  override check(model: Readonly<Model>): boolean {
    return model.workers.get(this.#instance)?.isConnected === true;
  }

  async take(model: Model, system: System): Promise<void> {
    await system.hangUp(this.#instance);
    const worker = model.workers.get(this.#instance);
    // If open, it was a sign of life; what else the object remembers may be older.
    if (worker === undefined) return;
    const signFrom = Math.min(worker.signFrom, worker.storedFrom);
    model.workers.set(this.#instance, { ...worker, isConnected: false, signFrom });
  }

  words() {
    return [this.#instance, "hangs up"];
  }
}

export class Claim extends Step {
  readonly #instance: string;
  readonly #max: number;

  constructor(instance: string, max: number) {
    super();
    this.#instance = instance;
    this.#max = max;
  }

  async take(model: Model, system: System): Promise<void> {
    const { answer, span } = await system.timed(() =>
      system.post(`/api/workers/${this.#instance}/claim`, { max: this.#max }),
    );
    const worker = model.workers.get(this.#instance);
    if (answer.status !== (worker === undefined ? 404 : 200))
      throw new Contradiction(`claim of ${this.#instance} got ${answer.status}`);
    if (worker === undefined) return;
    const viaSocket = worker.viaSocket && worker.isConnected;
    model.workers.set(this.#instance, { ...heard(worker, span), viaSocket });
    const given = answer.body.jobs as LeasedJob[];
    if (given.length > this.#max)
      throw new Contradiction(`${this.#instance} claimed ${this.#max}, got ${given.length}`);
    takeOver(model, this.#instance, given);
    for (const job of given) model.handed.add(nameOf(job));
    const forgotten = [...model.jobs.values()].find((states) =>
      states.every((one) => isUnstarted(one, this.#instance) && !model.handed.has(nameOf(one))),
    );
    if (forgotten !== undefined && given.length < this.#max)
      throw new Contradiction(`${this.#instance} claimed and was not given its lease of job ${forgotten[0]?.id}`);
  }

  words() {
    return [this.#instance, "claims", this.#max];
  }
}

/** One lease of one job. */
const nameOf = ({ id, lease }: { id: string; lease: number }): string => `${id} ${lease}`;

const isUnstarted = (job: JobState, instance: string): boolean => job.status === "assigned" && job.worker === instance;

export type Verb = "start" | "heartbeat" | "progress" | "complete" | "fail" | "rate-limit" | "release";
/** Which lease a report names: a leased job's, an ended one, the one before it, or one that does not exist yet. */
export type Lease = "current" | "ended" | "stale" | "future";

const BODIES: Record<Verb, { path: string; type: string; body: Record<string, unknown> }> = {
  start: { path: "start", type: "job.started", body: {} },
  heartbeat: { path: "heartbeat", type: "job.heartbeat", body: {} },
  progress: { path: "heartbeat", type: "job.heartbeat", body: { progress: "half" } },
  complete: { path: "complete", type: "job.completed", body: {} },
  fail: { path: "fail", type: "job.failed", body: { error: { code: "boom", message: "it broke" } } },
  "rate-limit": { path: "fail", type: "job.failed", body: { error: { code: "rate_limited", message: "too fast" } } },
  release: { path: "release", type: "job.released", body: { reason: "no room" } },
};

let results = 0;

/** A report on a lease, by its holder, and perhaps repeated at once. */
export class Report extends Step {
  readonly #verb: Verb;
  readonly #which: number;
  readonly #lease: Lease;
  readonly #times: number;

  constructor(verb: Verb, which: number, lease: Lease, times: number) {
    super();
    this.#verb = verb;
    this.#which = which;
    this.#lease = lease;
    this.#times = times;
  }

  override check(model: Readonly<Model>): boolean {
    return this.#candidates(model).length > 0;
  }

  #candidates(model: Readonly<Model>): JobState[] {
    const all = [...model.jobs.values()].flatMap(([job]) => job ?? []).filter(({ lease }) => lease > 0);
    return all.filter((job) => isLeased(job) === (this.#lease !== "ended"));
  }

  async take(model: Model, system: System): Promise<void> {
    const job = pick(this.#candidates(model).reverse(), this.#which);
    if (job === undefined) return;
    const lease = job.lease + { current: 0, ended: 0, stale: -1, future: 1 }[this.#lease];
    results += 1;
    for (let time = 0; time < this.#times; time += 1) {
      model.expand();
      await this.#report(model, system, job, lease, `result ${results} said ${time}`);
    }
  }

  async #report(model: Model, system: System, job: JobState, lease: number, result: string): Promise<void> {
    const { path, type, body } = BODIES[this.#verb];
    const told = { ...body, lease, ...(this.#verb === "complete" ? { result } : {}) };
    const socket = system.sockets.get(job.worker ?? "");
    const { answer, span } = await system.timed<{ status: number }>(() =>
      socket === undefined
        ? system.post(`/api/jobs/${job.id}/${path}`, told)
        : system.say(socket, { type, job_id: job.id, ...told }),
    );
    const before = model.jobs.get(job.id) ?? [];
    const holder = this.#noteHolder(model, before, lease, answer.status, span);
    model.answered(job.id, `${this.#verb} with lease ${lease}`, answer.status, (one) =>
      this.#outcomes(model, one, lease, result, span),
    );
    const isBackOff = model.jobs
      .get(job.id)
      ?.some((one) => one.status === "pending" && one.rateLimitRetries > job.rateLimitRetries);
    const limit = model.limitOf(job.workerProvider);
    const isSpent = this.#verb === "rate-limit" && model.jobs.get(job.id)?.every((one) => one.status === "failed");
    if (isBackOff === true && holder !== null) this.#backOff(model, model.known(job.id), holder);
    // The job has ended, and its provider backs off in any case.
    else if (isSpent === true && holder !== null && limit !== null) {
      const delayMs = limit.retryAfterMs * 2 ** job.rateLimitRetries;
      const readyUntil = span.untilAt + Math.ceil(delayMs * 1.25);
      this.#backOff(model, { readyFrom: span.fromAt + delayMs, readyUntil }, holder);
    }
  }

  #outcomes(model: Model, job: JobState, lease: number, result: string, span: Span): Outcome[] {
    switch (this.#verb) {
      case "start":
        return jobs.start(job, lease, span);
      case "heartbeat":
      case "progress":
        return jobs.heartbeat(job, lease, span);
      case "complete":
        return jobs.complete(job, lease, result, span);
      case "fail":
        return jobs.fail(job, lease, "boom", null, span);
      case "rate-limit":
        return jobs.fail(job, lease, "rate_limited", model.limitOf(job.workerProvider), span);
      case "release":
        return jobs.release(job, lease, span);
    }
  }

  /** An accepted report is a sign of life of the worker that holds the job; returns it. */
  #noteHolder(
    model: Model,
    states: readonly JobState[],
    lease: number,
    status: number,
    span: Span,
  ): WorkerState | null {
    const holder = states.find((one) => isLeased(one) && one.lease === lease)?.worker ?? null;
    const worker = holder === null ? undefined : model.workers.get(holder);
    if (worker === undefined || status !== 200) return null;
    const next = { ...heard(worker, span), signFrom: worker.signFrom };
    const isFailure = this.#verb === "fail";
    const sure = states.length === 1 ? { ...next, signFrom: span.fromAt } : next;
    model.workers.set(worker.instance, isFailure ? { ...sure, failures: worker.failures + 1 } : sure);
    return worker;
  }

  #backOff(
    model: Model,
    { readyFrom, readyUntil }: Pick<JobState, "readyFrom" | "readyUntil">,
    { provider }: WorkerState,
  ): void {
    const known = model.backoffs.get(provider) ?? { fromAt: 0, untilAt: 0 };
    const [fromAt, untilAt] = [Math.max(known.fromAt, readyFrom), Math.max(known.untilAt, readyUntil)];
    model.backoffs.set(provider, { fromAt, untilAt });
  }

  words() {
    return [
      this.#verb,
      "job",
      this.#which,
      this.#lease === "ended" ? "that is over" : `with its ${this.#lease} lease`,
      this.#times > 1 && `${this.#times} times`,
    ];
  }
}
