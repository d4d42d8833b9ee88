// The heart of the worker: leases in, jobs run, reports out. Knows no network: a session is attached and detached, and the
// jobs go on meanwhile. A job is held from its assignment until its last report is acknowledged, and every presence lists
// the jobs held, so that the coordinator never takes one for lost whose result is on its way. Idle, it lets it sleep.
//
//   waiting ──slot free──▶ running ──outcome──▶ reporting ──ack──▶ gone
//      └──drain: released──────┴── halted ──▶ stopping ──run has ended──▶ gone

import { setTimeout as delay } from "node:timers/promises";
import type { JobResource } from "../contract/job.ts";
import type { ProblemResource } from "../contract/problem.ts";
import type { PresenceAnswer } from "../contract/worker.ts";
import { createBeats } from "./beats.ts";
import type { ConfigWatch } from "./config.ts";
import { Outbox, type Report } from "./outbox.ts";
import { PresenceDue, presenceMessage, type WorkerIdentity } from "./presence.ts";
import { runJob } from "./run-job.ts";
import type { Progress, Runtime } from "./runtimes/runtime.ts";
import type { CoordinatorMessage, Session } from "./session.ts";

export const DEFAULT_HEARTBEAT_SECONDS = 15;
export const PROGRESS_EVERY_MS = 1_000;
/** A beat comes this much early, so that a slow line does not make it late. */
const BEAT_SHARE = 0.9;
const MAX_PONG_MS = 15_000;
const ACK_GRACE_MS = 1_500;
/** A config this many heartbeats old is looked at again before a job; one that does not come soon is not waited for. */
const STALE_CONFIG_BEATS = 2;
const CONFIG_GRACE_MS = 1_000;
const MAX_REMEMBERED_LEASES = 10_000;

export type LoopOptions = {
  identity: WorkerIdentity;
  runtime: Runtime;
  config: ConfigWatch;
  log: (line: string) => void;
  /** The coordinator will never take this worker as it is: the process ends with this reason. */
  onRefused: (reason: string) => void;
  random?: () => number;
};

type Held = {
  job: JobResource;
  state: "waiting" | "running" | "reporting" | "stopping";
  halt: AbortController;
  progress: Progress | null;
  progressSentAtMs: number;
};

type PresenceFacts = { [K in keyof PresenceAnswer]?: PresenceAnswer[K] | undefined };

/** A report before it has an id. */
type Unnumbered<T> = T extends { id: string } ? Omit<T, "id"> : never;

export class Loop {
  readonly #options: LoopOptions;
  readonly #outbox = new Outbox();
  readonly #held = new Map<string, Held>();
  /** The last leases done with, so that a stale answer that names one again starts nothing. */
  readonly #settledLeases = new Map<string, number>();
  #session: Session | null = null;
  #lastId = 0;
  #isDraining = false;
  #mustConfirmHalt = false;
  #intervalMs = DEFAULT_HEARTBEAT_SECONDS * 1000;
  readonly #beats = createBeats((isLate) => this.#beat(isLate));
  readonly #presence: PresenceDue;
  /** Whoever makes the loop has just read it. */
  #configReadAtMs = performance.now();
  #onChange = () => {};

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#presence = new PresenceDue(options.random ?? Math.random);
  }

  /** Presence goes first: it tells the coordinator who speaks. Then all that it has not acknowledged yet. */
  attach(session: Session): void {
    this.#session = session;
    this.#sendPresence();
    for (const report of this.#outbox.due(Date.now(), true)) session.send(report);
    this.#beats.start(this.#intervalMs * BEAT_SHARE);
  }

  detach(): void {
    this.#session = null;
    this.#beats.stop();
  }

  freeSlots(): number {
    const taken = [...this.#held.values()].filter(({ state }) => state !== "reporting").length;
    return this.#isDraining ? 0 : Math.max(0, this.#options.identity.concurrency - taken);
  }

  get heldJobIds(): string[] {
    return [...this.#held.keys()];
  }

  receive(message: CoordinatorMessage): void {
    switch (message.type) {
      case "welcome":
        this.#takePresenceFacts(message);
        break;
      case "ack":
        if (message.ok) this.#acknowledged(message.id);
        else this.#refused(message.id, message.problem);
        this.#takePresenceFacts(message);
        break;
      case "job.assigned":
        this.#assign(message.job);
        break;
      case "job.halted":
        this.#haltJob(message.job_id, message.lease, message.reason);
        break;
      case "killswitch":
        if (message.killswitch.active) this.#haltAll();
        break;
      case "worker.paused":
        this.#options.log(`paused: ${message.reason}`);
        break;
      case "worker.resumed":
        this.#options.log("resumed");
        break;
    }
  }

  /** Takes no more jobs, lets the running ones end within the grace period, gives back the rest. Resolves when all is told. */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    for (const held of this.#held.values())
      if (held.state === "waiting") this.#release(held, "the worker is shutting down");
    this.#sendPresence();
    await this.#until(() => this.#held.size === 0, graceMs);
    for (const held of this.#held.values()) {
      if (held.state !== "running") continue;
      held.halt.abort();
      this.#release(held, "the worker shut down before the job was done");
    }
    await this.#until(() => this.#held.size === 0 && this.#outbox.isEmpty, ACK_GRACE_MS);
    if (this.#held.size > 0) this.#options.log(`left without a word on: ${this.heldJobIds.join(", ")}`);
  }

  #takePresenceFacts(facts: PresenceFacts): void {
    const { jobs = [], halted = [], killswitch, heartbeat_interval_seconds: interval } = facts;
    if (interval !== undefined && interval > 0) this.#follow(interval * 1000);
    if (killswitch?.active && this.#held.size > 0) this.#haltAll();
    for (const jobId of halted) this.#haltJob(jobId, Number.POSITIVE_INFINITY, "the coordinator took it back");
    for (const job of jobs) this.#assign(job);
  }

  /** The last ping may be older than a shorter interval allows: the next one goes at once. */
  #follow(intervalMs: number): void {
    if (intervalMs === this.#intervalMs) return;
    this.#intervalMs = intervalMs;
    if (this.#session === null) return;
    this.#ping();
    this.#beats.start(intervalMs * BEAT_SHARE);
  }

  #assign(job: JobResource): void {
    const known = this.#held.get(job.id)?.job.lease ?? this.#settledLeases.get(job.id) ?? -1;
    if (job.lease <= known) return;
    // A newer lease voids the older run, if there is one.
    this.#haltJob(job.id, job.lease - 1, "leased anew");
    const held: Held = { job, state: "waiting", halt: new AbortController(), progress: null, progressSentAtMs: 0 };
    this.#held.set(job.id, held);
    if (this.#isDraining) this.#release(held, "the worker is shutting down");
    else this.#startWaiting();
  }

  #startWaiting(): void {
    for (const held of this.#held.values()) {
      const running = [...this.#held.values()].filter(
        ({ state }) => state === "running" || state === "stopping",
      ).length;
      if (running >= this.#options.identity.concurrency) return;
      if (held.state === "waiting") void this.#run(held);
    }
  }

  async #run(held: Held): Promise<void> {
    const { job, halt } = held;
    const { runtime, config, identity } = this.#options;
    held.state = "running";
    held.progressSentAtMs = Date.now();
    this.#report({ type: "job.started", job_id: job.id, lease: job.lease });
    if (performance.now() - this.#configReadAtMs > this.#intervalMs * STALE_CONFIG_BEATS) await this.#freshConfig();
    const { timeoutSeconds, model: configuredModel } = config.current();
    const onProgress = (progress: Progress) => this.#progress(held, progress);
    const settings = { runtime, configuredModel, offeredModels: identity.models, timeoutSeconds, onProgress };
    const outcome = halt.signal.aborted ? null : await runJob(job, settings, halt.signal);
    if (outcome === null || this.#held.get(job.id) !== held) this.#stopped(held);
    else {
      held.state = "reporting";
      this.#report({ ...outcome, job_id: job.id, lease: job.lease } as Unnumbered<Report>);
    }
    this.#startWaiting();
    this.#session?.slotsChanged();
  }

  #readConfig(): Promise<void> {
    this.#configReadAtMs = performance.now();
    return this.#options.config.refresh();
  }

  /** An idle worker does not watch the config, lest it keep the coordinator awake: its next job does. */
  async #freshConfig(): Promise<void> {
    const enough = new AbortController();
    const waited = delay(CONFIG_GRACE_MS, undefined, { signal: enough.signal }).catch(() => {});
    await Promise.race([this.#readConfig(), waited]);
    enough.abort();
  }

  #progress(held: Held, progress: Progress): void {
    held.progress = progress;
    if (held.state !== "running" || Date.now() - held.progressSentAtMs < PROGRESS_EVERY_MS) return;
    this.#sendHeartbeat(held);
  }

  #sendHeartbeat(held: Held): void {
    held.progressSentAtMs = Date.now();
    const progress = held.progress === null ? {} : { progress: held.progress };
    this.#report({ type: "job.heartbeat", job_id: held.job.id, lease: held.job.lease, ...progress });
  }

  #release(held: Held, reason: string): void {
    held.state = "reporting";
    this.#report({ type: "job.released", job_id: held.job.id, lease: held.job.lease, reason });
  }

  /** The coordinator took the job back: its run ends, and nothing more is said about it. */
  #haltJob(jobId: string, lease: number, reason: string): void {
    const held = this.#held.get(jobId);
    if (held === undefined || held.job.lease > lease || held.state === "stopping") return;
    this.#outbox.forget(jobId, held.job.lease);
    this.#options.log(`job ${jobId} halted: ${reason}`);
    if (held.state === "running") {
      held.state = "stopping";
      held.halt.abort();
    } else this.#drop(held);
  }

  /** The killswitch: the presence that lists no jobs any more is what confirms the halt, once every run has truly ended. */
  #haltAll(): void {
    this.#mustConfirmHalt = true;
    for (const held of [...this.#held.values()]) this.#haltJob(held.job.id, held.job.lease, "killswitch");
    this.#confirmHalt();
  }

  #confirmHalt(): void {
    if (!this.#mustConfirmHalt || this.#held.size > 0) return;
    this.#mustConfirmHalt = false;
    this.#sendPresence();
  }

  #stopped(held: Held): void {
    if (held.state === "stopping" && this.#held.get(held.job.id) === held) this.#drop(held);
    this.#confirmHalt();
  }

  /** Gone without an acknowledged report: the next beat tells it, and so settles what only the coordinator still holds. */
  #drop(held: Held): void {
    this.#presence.owe();
    this.#forget(held);
  }

  #forget(held: Held): void {
    const { id, lease } = held.job;
    this.#held.delete(id);
    this.#settledLeases.delete(id);
    this.#settledLeases.set(id, lease);
    const oldest = this.#settledLeases.keys().next().value;
    if (this.#settledLeases.size > MAX_REMEMBERED_LEASES && oldest !== undefined) this.#settledLeases.delete(oldest);
    this.#onChange();
  }

  #acknowledged(id: string): void {
    this.#presence.acknowledged(id);
    const report = this.#outbox.take(id);
    const isLast = report !== undefined && report.type !== "job.started" && report.type !== "job.heartbeat";
    const held = isLast ? this.#held.get(report.job_id) : undefined;
    if (held?.job.lease === report?.lease && held) this.#forget(held);
    this.#onChange();
  }

  /** A refusal that may pass is waited for; one of a result's shape fails the job; every other means that the lease is gone. */
  #refused(id: string, problem: ProblemResource | undefined): void {
    const status = problem?.status ?? 0;
    const detail = problem?.detail || problem?.title || "no reason given";
    if (this.#presence.isLast(id)) this.#refusedPresence(status, detail);
    if (status === 429 || status >= 500) return;
    const report = this.#outbox.take(id);
    if (report === undefined) return;
    const { type, job_id, lease } = report;
    if (this.#held.get(job_id)?.job.lease !== lease) return;
    this.#options.log(`${type} of job ${job_id} refused: ${detail}`);
    const isUnfit = status === 400 || status === 413;
    if (type === "job.completed" && isUnfit) {
      const message = `The coordinator refused the result: ${detail}`;
      this.#report({ type: "job.failed", job_id, lease, error: { code: "result_refused", message, retryable: false } });
    } else if (type !== "job.heartbeat" || !isUnfit) {
      this.#haltJob(job_id, lease, detail);
    }
  }

  #refusedPresence(status: number, detail: string): void {
    const isFinal = [400, 401, 403, 404, 413, 415, 422].includes(status);
    if (isFinal) this.#options.onRefused(`the coordinator refused this worker: ${detail}`);
    else this.#options.log(`presence not taken: ${detail}`);
  }

  #report(unnumbered: Unnumbered<Report>): void {
    const report = { ...unnumbered, id: this.#nextId() } as Report;
    this.#outbox.add(report, Date.now());
    this.#session?.send(report);
  }

  #sendPresence(): void {
    const id = this.#nextId();
    const load = { jobs: this.heldJobIds, freeSlots: this.freeSlots(), isDraining: this.#isDraining };
    this.#session?.send(presenceMessage(id, this.#options.identity, load));
    this.#presence.sent(id, performance.now());
  }

  #ping(): void {
    this.#session?.ping(Math.min(this.#intervalMs, MAX_PONG_MS));
  }

  /** Over plain HTTP a presence is the only sign of life; on a socket one that has nothing to say is a ping. */
  #beat(isLate: boolean): void {
    this.#ping();
    const isPresenceDue = isLate || this.#held.size > 0 || this.#presence.isDue(performance.now());
    if (this.#session?.kind === "socket" && !isPresenceDue) return;
    void this.#readConfig();
    this.#sendPresence();
    for (const report of this.#outbox.due(Date.now(), false)) this.#session?.send(report);
    for (const held of this.#held.values()) if (held.state === "running") this.#sendHeartbeat(held);
  }

  #nextId(): string {
    this.#lastId += 1;
    return String(this.#lastId);
  }

  /** Resolves when `isDone`, at the latest after `ms`. */
  #until(isDone: () => boolean, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        this.#onChange = () => {};
        resolve();
      };
      const timer = setTimeout(finish, ms);
      this.#onChange = () => {
        if (isDone()) finish();
      };
      this.#onChange();
    });
  }
}
