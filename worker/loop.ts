// Runs leased jobs and reports outcomes, over any transport. A job is held until its last report is acknowledged, and
// presence reports list the held jobs. When idle it only pings, so that the tenant's object can sleep.

import type { PresenceAnswer } from "../contract/fleet/worker.ts";
import type { ProblemResource } from "../contract/words/problem.ts";
import { createBeats } from "./beats.ts";
import type { Runtime, RuntimeState } from "./calls/runtime.ts";
import type { ConfigWatch } from "./config.ts";
import { type HeldJob, HeldJobs } from "./held-jobs.ts";
import { JobRunner } from "./job-runner.ts";
import type { WorkerLog } from "./log.ts";
import type { Machine } from "./models/machine.ts";
import { ModelTasks } from "./models/model-tasks.ts";
import { PresenceDue, presenceMessage, type WorkerIdentity } from "./presence.ts";
import { Reports } from "./reports.ts";
import type { Transfers } from "./run-job.ts";
import { tryRuntime } from "./runtime-trial.ts";
import type { RuntimeWatch } from "./runtime-watch.ts";
import type { Report } from "./session/outbox.ts";
import type { CoordinatorMessage, Session } from "./session/session.ts";
import type { Streams } from "./streams/streams.ts";

const DEFAULT_HEARTBEAT_SECONDS = 15;
/** Beats are sent this much early, so that a slow connection does not make them late. */
const BEAT_SHARE = 0.9;
const MAX_PONG_MS = 15_000;
const ACK_GRACE_MS = 1_500;
const SHUTTING_DOWN = "the worker is shutting down";

type LoopOptions = {
  identity: WorkerIdentity;
  runtime: Runtime;
  watch: RuntimeWatch;
  streams: Streams;
  transfers: Transfers;
  config: ConfigWatch;
  log: WorkerLog;
  /** What is told of the machine, and whose models are managed; absent: nothing, and none. */
  machine?: Machine;
  /** Gives running jobs back when it closes, instead of finishing them. */
  drainsNow?: boolean;
  /** The coordinator will never accept this worker: the process ends with this reason. */
  onRefused: (reason: string) => void;
  random?: () => number;
};

type PresenceFacts = { [K in keyof PresenceAnswer]?: PresenceAnswer[K] | undefined };

export class Loop {
  readonly #options: LoopOptions;
  readonly #held = new HeldJobs();
  readonly #reports = new Reports();
  readonly #runner: JobRunner;
  #session: Session | null = null;
  #isDraining = false;
  #mustConfirmHalt = false;
  #isTrying = false;
  #intervalMs = DEFAULT_HEARTBEAT_SECONDS * 1000;
  readonly #beats = createBeats((isLate) => this.#beat(isLate));
  readonly #presence: PresenceDue;
  readonly #tasks: ModelTasks;
  #onChange = () => {};

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#presence = new PresenceDue(options.random ?? Math.random);
    const { runtime, streams, transfers, identity, log, watch, config } = options;
    // A front-door request names its model, and its client waits for the first token.
    const configFor = ({ job, configEtag: newest }: HeldJob) =>
      config.forJob(job.api === null || job.model === null, newest);
    this.#runner = new JobRunner({
      held: this.#held,
      reports: this.#reports,
      runtime,
      streams,
      transfers,
      concurrency: identity.concurrency,
      offeredModels: identity.models,
      config: configFor,
      log,
      onNeverReached: (reason) => watch.lost(reason),
      onDropped: () => this.#presence.owe(),
      onChange: () => this.#changed(),
    });
    const { manager = null, maxModelGb = null, onDone = () => {} } = options.machine?.forTasks ?? {};
    this.#tasks = new ModelTasks(
      { manager, maxModelGb, onDone, log },
      { send: (message) => this.#reports.send(message), nextId: () => this.#reports.nextId() },
    );
    options.machine?.watch(() => this.#session !== null && this.#sendPresence());
    watch.watch((state) => this.#runtimeChanged(state));
    this.#openOrClose(watch.state);
  }

  /** Sends presence first, so that the coordinator knows the worker, then everything that is not acknowledged. */
  attach(session: Session): void {
    this.#session = session;
    this.#reports.attach(session);
    this.#sendPresence();
    this.#reports.repeat(true);
    this.#tasks.repeat();
    this.#beats.start(this.#intervalMs * BEAT_SHARE);
  }

  detach(): void {
    this.#session = null;
    this.#reports.detach();
    this.#beats.stop();
  }

  freeSlots(): number {
    const isClosed = this.#isDraining || this.#options.watch.state.unavailable !== null;
    return isClosed ? 0 : Math.max(0, this.#options.identity.concurrency - this.#held.takenCount);
  }

  get heldJobIds(): string[] {
    return this.#held.ids;
  }

  receive(message: CoordinatorMessage): void {
    const { log } = this.#options;
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
        this.#runner.assign(message.job, message.config_etag);
        break;
      case "job.halted":
        this.#runner.halt(message.job_id, message.lease, message.reason);
        break;
      case "killswitch":
        if (message.killswitch.active) this.#haltAll();
        break;
      case "model.task":
        this.#tasks.receive(message.task);
        break;
      case "model.task_cancelled":
        this.#tasks.cancel(message.task_id);
        break;
      case "runtime.try":
        void this.#try(message.model);
        break;
      case "worker.paused":
        log(`paused: ${message.reason}`);
        break;
      case "worker.resumed":
        log("resumed");
        break;
    }
  }

  /**
   * Takes no more jobs, lets running ones finish within the grace period, gives back the rest. Resolves when everything
   * is reported.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    this.#runner.close(SHUTTING_DOWN);
    this.#tasks.close();
    this.#sendPresence();
    await this.#until(() => this.#held.size === 0, graceMs);
    this.#giveBack("the worker shut down before the job was done");
    await this.#until(() => this.#held.size === 0 && this.#reports.isEmpty, ACK_GRACE_MS);
    if (this.#held.size > 0) this.#options.log(`stopped without a final report for: ${this.heldJobIds.join(", ")}`);
  }

  /** Reports the change before any job is given back, so that the coordinator does not send the job here again. */
  #runtimeChanged(state: RuntimeState): void {
    if (this.#session !== null) this.#sendPresence();
    this.#openOrClose(state);
    if (state.isClosed && !state.isLooking && this.#options.drainsNow) this.#giveBack(state.unavailable ?? "");
    this.#changed();
  }

  #giveBack(reason: string): void {
    for (const held of this.#held.all("running")) {
      held.halt.abort();
      this.#runner.release(held, reason);
    }
  }

  #openOrClose({ unavailable }: RuntimeState): void {
    if (this.#isDraining) return;
    if (unavailable === null) this.#runner.open();
    else this.#runner.close(unavailable);
  }

  #takePresenceFacts(facts: PresenceFacts): void {
    const { jobs = [], halted = [], model_tasks: tasks = [], killswitch, heartbeat_interval_seconds: interval } = facts;
    if (interval !== undefined && interval > 0) this.#follow(interval * 1000);
    if (killswitch?.active && this.#held.size > 0) this.#haltAll();
    for (const jobId of halted) this.#runner.halt(jobId, Number.POSITIVE_INFINITY, "the coordinator took it back");
    for (const job of jobs) this.#runner.assign(job);
    for (const task of tasks) this.#tasks.receive(task);
  }

  /** The last ping may be older than a shorter interval allows, so the next one is sent at once. */
  #follow(intervalMs: number): void {
    if (intervalMs === this.#intervalMs) return;
    this.#intervalMs = intervalMs;
    if (this.#session === null) return;
    this.#ping();
    this.#beats.start(intervalMs * BEAT_SHARE);
  }

  /**
   * The killswitch: a presence report without jobs confirms the halt, so it is sent only after every run has really
   * ended.
   */
  #haltAll(): void {
    this.#mustConfirmHalt = true;
    for (const { job } of this.#held.all()) this.#runner.halt(job.id, job.lease, "killswitch");
    this.#confirmHalt();
  }

  #confirmHalt(): void {
    if (!this.#mustConfirmHalt || this.#held.size > 0) return;
    this.#mustConfirmHalt = false;
    this.#sendPresence();
  }

  #changed(): void {
    this.#confirmHalt();
    this.#session?.slotsChanged();
    this.#onChange();
  }

  #acknowledged(id: string): void {
    if (this.#tasks.acknowledged(id, 0)) return;
    this.#presence.acknowledged(id);
    const report = this.#reports.take(id);
    const held = report === undefined ? undefined : this.#held.find(report.job_id);
    if (held?.state === "reporting" && held.job.lease === report?.lease && isLast(report.type)) this.#held.settle(held);
    this.#onChange();
  }

  /**
   * A temporary refusal is waited for; one about the result's format fails the job; any other means that the lease has
   * ended.
   */
  #refused(id: string, problem: ProblemResource | undefined): void {
    const status = problem?.status ?? 0;
    const detail = problem?.detail || problem?.title || "no reason given";
    if (this.#tasks.acknowledged(id, status)) return;
    if (this.#presence.isLast(id)) this.#refusedPresence(status, detail);
    if (status === 429 || status >= 500) return;
    const report = this.#reports.take(id);
    if (report === undefined) return;
    const { type, job_id, lease } = report;
    if (this.#held.find(job_id)?.job.lease !== lease) return;
    this.#options.log(`${type} of job ${job_id} refused: ${detail}`);
    const isUnfit = status === 400 || status === 413;
    const failure = isUnfit ? failureInstead(report, detail) : null;
    if (failure !== null) this.#reports.add({ type: "job.failed", job_id, lease, ...failure });
    else if (!isUnfit || isLast(type) || type === "job.started") this.#runner.halt(job_id, lease, detail);
  }

  #refusedPresence(status: number, detail: string): void {
    const isFinal = [400, 401, 403, 404, 413, 415, 422].includes(status);
    if (isFinal) this.#options.onRefused(`the coordinator refused this worker: ${detail}`);
    else this.#options.log(`presence refused: ${detail}`);
  }

  #sendPresence(): void {
    const id = this.#reports.nextId();
    const { identity, watch, machine } = this.#options;
    const load = { jobs: this.heldJobIds, freeSlots: this.freeSlots(), isDraining: this.#isDraining };
    this.#reports.send(presenceMessage(id, identity, load, watch.state, machine?.facts));
    this.#presence.sent(id, performance.now());
  }

  async #try(model: string | null): Promise<void> {
    if (this.#isTrying) return;
    this.#isTrying = true;
    const { runtime, identity, config, log } = this.#options;
    const offeredModels = identity.models;
    const tried = await tryRuntime({ runtime, config: config.current, offeredModels }, { model });
    this.#isTrying = false;
    log(tried.ok ? "tried the runtime after failures: it works" : `the runtime fails: ${tried.error.message}`);
    this.#reports.send({ type: "runtime.tried", id: this.#reports.nextId(), ...tried });
  }

  #ping(): void {
    this.#session?.ping(Math.min(this.#intervalMs, MAX_PONG_MS));
  }

  /** Over plain HTTP presence is the only sign of life; on a socket a ping replaces a presence report without news. */
  #beat(isLate: boolean): void {
    this.#ping();
    this.#options.watch.lookIfDue();
    void this.#options.machine?.look();
    const isPresenceDue = isLate || this.#held.size > 0 || this.#presence.isDue(performance.now());
    if (this.#session?.kind === "socket" && !isPresenceDue) return;
    this.#sendPresence();
    this.#reports.repeat(false);
    this.#tasks.repeat();
    for (const held of this.#held.all("running")) this.#runner.heartbeat(held);
  }

  /** Resolves when `isDone` is true, at the latest after `ms`. */
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

/**
 * A refused result or a refused count of what was spent is not to hide how its job ended. Null: nothing is left to say.
 */
const failureInstead = (report: Report, detail: string): Failure | null => {
  const message = `The coordinator refused the result: ${detail}`;
  if (report.type === "job.completed") {
    const { usage, cost_usd } = report;
    const error = { code: "result_refused", message, retryable: false };
    return { error, usage, cost_usd };
  }
  const hasSpent = report.type === "job.failed" && (report.usage ?? report.cost_usd) != null;
  return hasSpent ? { error: report.error } : null;
};
type Failure = Omit<Extract<Report, { type: "job.failed" }>, "type" | "id" | "job_id" | "lease">;

/** Messages after which the worker sends nothing more about a job. */
const isLast = (type: string): boolean => type === "job.completed" || type === "job.failed" || type === "job.released";
