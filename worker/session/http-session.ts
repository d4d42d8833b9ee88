// The worker protocol over plain HTTP, for networks without WebSockets. Every message becomes its request, and every
// answer becomes the message that the socket would have received. The reports of one job are sent in order.

import { setTimeout as delay } from "node:timers/promises";
import type { ApiProblem } from "../../contract/client/problem.ts";
import type { CallOptions } from "../../contract/client/transport.ts";
import type { Client } from "../../contract/client.ts";
import { claimAnswer, presenceAnswer } from "../../contract/fleet/worker.ts";
import { backoffMs } from "./backoff.ts";
import { checkAddress } from "./check-address.ts";
import { type Answered, HttpLine, type HttpLineOptions } from "./http-line.ts";
import type { Report } from "./outbox.ts";
import {
  type Ending,
  isRefusalOfReport,
  type Opened,
  type Session,
  type SessionHost,
  type WorkerMessage,
} from "./session.ts";

const CLAIM_WAIT_SECONDS = 25;
const MAX_CLAIM = 100;
const PRESENCE_LANE = "";
/** Well within the time that a lease may wait for its start. */
const START_AFTER_MS = 500;
const HASTY_CLAIM_MS = 1_000;
/** Time without a WebSocket before trying one again. */
const LIFETIME_MS = 300_000;
const CLOSE_TIMEOUT_MS = 2_000;

type ReportOf<Type extends Report["type"]> = Extract<Report, { type: Type }>;
type Sendable = Exclude<WorkerMessage, { type: "runtime.tried" }>;
type ModelTaskMessage = Extract<WorkerMessage, { task_id: string }>;
type StartMessage = ReportOf<"job.started">;

/** An older coordinator says less of the worker itself, of which nothing is needed. */
const ANSWER = presenceAnswer.omit({ worker: true });

const HALTED = { code: "halted", message: "the job was halted while it ran", retryable: false };

/** The request of each report; a result also brings the next leases and has its own. */
const SENT: {
  readonly [Type in Exclude<Report["type"], "job.completed">]: (
    jobs: Client["jobs"],
    report: ReportOf<Type>,
    options: CallOptions,
  ) => Promise<unknown>;
} = {
  "job.started": (jobs, { job_id, lease }, options) => jobs.start(job_id, { lease }, options),
  "job.heartbeat": (jobs, { job_id, lease, progress }, options) => jobs.heartbeat(job_id, { lease, progress }, options),
  // Over HTTP the stream's own request shows that it has begun.
  "job.streaming": (jobs, { job_id, lease }, options) => jobs.heartbeat(job_id, { lease }, options),
  "job.failed": (jobs, { type: _type, id: _id, job_id, ...told }, options) => jobs.fail(job_id, told, options),
  "job.released": (jobs, { job_id, lease, reason }, options) => jobs.release(job_id, { lease, reason }, options),
  // A report with an ended lease is refused, but its cost is counted.
  "job.spent": (jobs, { type: _type, id: _id, job_id, ...told }, options) =>
    jobs.fail(job_id, { ...told, error: HALTED }, options),
};

type HttpSessionOptions = HttpLineOptions & { random?: () => number };

/** A server that refuses a WebSocket may not be a coordinator at all. */
export const openHttpSession = async (options: HttpSessionOptions, host: SessionHost): Promise<Opened> => {
  const checked = await checkAddress(options.apiUrl, options.fetch);
  if (checked.kind === "wrong") return { ok: false, kind: "refused", reason: checked.reason, isForeign: true };
  if (checked.kind === "unreachable") return { ok: false, kind: "unreachable", reason: checked.reason };
  return { ok: true, session: new HttpSession(options, host) };
};

const laneOf = (message: Sendable): string => {
  if ("task_id" in message) return message.task_id;
  return message.type === "presence" ? PRESENCE_LANE : message.job_id;
};

class HttpSession implements Session {
  readonly kind = "http";
  readonly ended: Promise<Ending>;
  readonly #line: HttpLine;
  readonly #options: HttpSessionOptions;
  readonly #host: SessionHost;
  /** The last request of each job; the next one waits for it. */
  readonly #lanes = new Map<string, Promise<void>>();
  readonly #inFlight = new Set<string>();
  readonly #end: (ending: Ending) => void;
  /** Starts that are held back briefly. */
  readonly #starts = new Map<string, { message: StartMessage; timer: NodeJS.Timeout }>();
  /** Results in transit whose answers bring leases; until then no other claim is sent. */
  #claimingResults = 0;
  #isOpen = true;
  #wakeClaim = () => {};

  constructor(options: HttpSessionOptions, host: SessionHost) {
    this.#line = new HttpLine(options, (ending) => this.#finish(ending));
    this.#options = options;
    this.#host = host;
    const { promise, resolve } = Promise.withResolvers<Ending>();
    this.ended = promise;
    const retire = setTimeout(() => this.#finish({ kind: "lost", reason: "trying a WebSocket again" }), LIFETIME_MS);
    this.#end = (ending) => {
      clearTimeout(retire);
      resolve(ending);
    };
  }

  send(message: WorkerMessage): void {
    // Only a socket asks for it.
    if (message.type === "runtime.tried") return;
    if (!this.#isOpen || this.#inFlight.has(message.id)) return;
    // A heartbeat adds nothing to a report of the job that is still in transit.
    if (message.type === "job.heartbeat" && this.#lanes.has(message.job_id)) return;
    if (message.type === "job.started") {
      this.#startLater(message);
      return;
    }
    this.#settleStart(message);
    this.#enqueue(message);
  }

  #enqueue(message: Sendable): void {
    const lane = laneOf(message);
    const isResult = message.type === "job.completed";
    this.#inFlight.add(message.id);
    if (isResult) this.#claimingResults += 1;
    // No report may overtake the presence report before it: a running job that is missing from that would be taken for
    // lost.
    const before = [this.#lanes.get(lane), this.#lanes.get(PRESENCE_LANE)];
    const sent = Promise.all(before)
      .then(() => this.#post(message))
      .finally(() => {
        this.#inFlight.delete(message.id);
        if (isResult) this.#claimingResults -= 1;
        if (isResult) this.#wakeClaim();
        if (this.#lanes.get(lane) === sent) this.#lanes.delete(lane);
      });
    this.#lanes.set(lane, sent);
  }

  /** A job that finishes at once needs no start: its result is enough. */
  #startLater(message: StartMessage): void {
    const { job_id: jobId, lease } = message;
    if (this.#starts.get(jobId)?.message.lease === lease) return;
    // Of an older lease of the job: it is sent, so that its report is answered.
    this.#start(jobId);
    const timer = setTimeout(() => this.#start(jobId), START_AFTER_MS);
    timer.unref();
    this.#starts.set(jobId, { message, timer });
  }

  #start(jobId: string): void {
    const start = this.#starts.get(jobId);
    if (start === undefined || !this.#isOpen) return;
    clearTimeout(start.timer);
    this.#starts.delete(jobId);
    this.#enqueue(start.message);
  }

  startTold(jobId: string): Promise<void> | undefined {
    this.#start(jobId);
    return this.#lanes.get(jobId);
  }

  /** Before other messages of a job its start must be sent; a result replaces the start. */
  #settleStart(message: Sendable): void {
    if (!("job_id" in message)) return;
    const start = this.#starts.get(message.job_id);
    if (start === undefined || start.message.lease !== message.lease) return;
    if (message.type !== "job.completed") {
      this.#start(message.job_id);
      return;
    }
    clearTimeout(start.timer);
    this.#starts.delete(message.job_id);
    this.#host.receive({ type: "ack", id: start.message.id, ok: true });
  }

  ping(): void {}

  slotsChanged(): void {
    this.#wakeClaim();
  }

  close(): void {
    const settled = Promise.allSettled(this.#lanes.values());
    const ending: Ending = { kind: "lost", reason: "closed" };
    void Promise.race([settled, delay(CLOSE_TIMEOUT_MS, undefined, { ref: false })]).then(() => this.#finish(ending));
    this.#isOpen = false;
    this.#wakeClaim();
  }

  #finish(ending: Ending): void {
    this.#isOpen = false;
    this.#line.close();
    this.#wakeClaim();
    this.#end(ending);
  }

  async #post(message: Sendable): Promise<void> {
    if (message.type === "presence") return this.#sendPresence(message);
    if (message.type === "job.completed") return this.#sendResult(message);
    if ("task_id" in message) return this.#sendTaskReport(message);
    const send = SENT[message.type] as (jobs: Client["jobs"], report: Report, options: CallOptions) => Promise<unknown>;
    const answer = await this.#line.ask(({ jobs }, options) => send(jobs, message, options), isRefusalOfReport);
    if (answer !== null) this.#acknowledge(message.id, answer);
  }

  async #sendPresence({ type: _type, id, ...presence }: Extract<WorkerMessage, { type: "presence" }>): Promise<void> {
    const answer = await this.#line.ask(({ workers }, options) => workers.report(presence, options));
    if (answer === null) return;
    if (!answer.ok) return this.#receiveProblem(id, answer.problem);
    const known = ANSWER.safeParse(answer.value);
    if (!known.success) return this.#line.countFailure("the answer to a presence report has the wrong format");
    this.#host.receive({ type: "ack", id, ok: true, ...known.data });
    // Jobs are claimed only after the coordinator has accepted a presence report.
    if (!this.#line.isKnown) void this.#claimForever();
    this.#line.isKnown = true;
  }

  async #sendTaskReport(message: ModelTaskMessage): Promise<void> {
    const answer = await this.#line.ask(({ models }, options) => {
      if (message.type === "model.done") return models.done(message.task_id, { error: message.error }, options);
      const { type: _type, id: _id, task_id, ...progress } = message;
      return models.progress(task_id, progress, options);
    });
    if (answer !== null) this.#acknowledge(message.id, answer);
  }

  /** One call per job: the answer to its result brings the next lease. */
  async #sendResult({ type: _type, id, job_id, ...told }: ReportOf<"job.completed">): Promise<void> {
    const max = Math.min(this.#host.freeSlots(), MAX_CLAIM);
    const answer = await this.#line.ask<unknown>(
      ({ jobs }, options) =>
        max > 0 ? jobs.completeAndClaim(job_id, told, max, options) : jobs.complete(job_id, told, options),
      isRefusalOfReport,
    );
    if (answer === null) return;
    this.#acknowledge(id, answer);
    if (answer.ok) this.#takeLeases(answer.value);
  }

  #takeLeases(answer: unknown): number {
    const { jobs = [], model_tasks: tasks = [] } = claimAnswer.safeParse(answer).data ?? {};
    for (const job of jobs) this.#host.receive({ type: "job.assigned", job });
    for (const task of tasks) this.#host.receive({ type: "model.task", task_id: task.id, task });
    return jobs.length;
  }

  #acknowledge(id: string, answer: Answered<unknown>): void {
    if (answer.ok) this.#host.receive({ type: "ack", id, ok: true });
    else this.#receiveProblem(id, answer.problem);
  }

  #receiveProblem(id: string, { status, code, title, message: detail, requestId: instance }: ApiProblem): void {
    const problem = { type: "about:blank", title, status, detail, instance, code };
    this.#host.receive({ type: "ack", id, ok: false, problem });
  }

  async #claimForever(): Promise<void> {
    const { instance } = this.#options;
    let hasty = 0;
    while (this.#isOpen) {
      const max = this.#claimingResults > 0 ? 0 : Math.min(this.#host.freeSlots(), MAX_CLAIM);
      if (max === 0) {
        await new Promise<void>((resolve) => {
          this.#wakeClaim = resolve;
        });
        continue;
      }
      const askedAt = performance.now();
      const answer = await this.#line.ask(({ workers }, options) =>
        workers.claim(instance, { max }, { ...options, wait: CLAIM_WAIT_SECONDS }),
      );
      const taken = answer?.ok ? this.#takeLeases(answer.value) : 0;
      // Paused and refused workers are answered at once; without a pause this would be a tight loop.
      const isHasty = taken === 0 && performance.now() - askedAt < HASTY_CLAIM_MS;
      hasty = isHasty ? hasty + 1 : 0;
      if (isHasty) await delay(backoffMs(hasty, (this.#options.random ?? Math.random)()), undefined, { ref: false });
    }
  }
}
