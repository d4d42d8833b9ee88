// Runs the held jobs: at most one per slot, each until its report. A halted job reports only what it spent. A job that
// never reached the runtime is given back, so it costs no attempt.

import type { ReaderGone } from "../contract/data-line.ts";
import type { LeasedJob } from "../contract/fleet/worker.ts";
import { isSpeech } from "../contract/words/values.ts";
import type { Progress, Runtime } from "./calls/runtime.ts";
import type { WorkerConfig } from "./config.ts";
import type { HeldJob, HeldJobs } from "./held-jobs.ts";
import type { WorkerLog } from "./log.ts";
import type { Reports } from "./reports.ts";
import { type JobOutcome, runJob, type Transfers } from "./run-job.ts";
import type { Streams } from "./streams/streams.ts";

const PROGRESS_EVERY_MS = 1_000;
/** The token goes first: self-hosted, the turn that notes it runs in the process that passes it on. */
const NOTE_FIRST_TOKEN_AFTER_MS = 5;
/** How long a job whose reader has left, and whose run has ended, waits for the coordinator; then it reports its end. */
const HALT_GRACE_MS = 10_000;
/** Sound is read as it is played: its listener may take nothing for as long as a full window lasts. */
const LISTENING_MS = 120_000;

type JobRunnerOptions = {
  held: HeldJobs;
  reports: Reports;
  runtime: Runtime;
  streams: Streams;
  transfers: Transfers;
  concurrency: number;
  offeredModels: readonly string[];
  /** The config for a job that begins now. */
  config: (held: HeldJob) => Promise<WorkerConfig> | WorkerConfig;
  log: WorkerLog;
  /** The runtime cannot be reached. Called before the job that found this out is given back. */
  onNeverReached: (reason: string) => void;
  /** A slot became free, or a job is gone. */
  onChange: () => void;
  /** Gone without an acknowledged report. */
  onDropped: () => void;
};

export class JobRunner {
  readonly #options: JobRunnerOptions;
  /** Why no job may start now. */
  #closedFor: string | null = null;

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /** @param configEtag names the config that the coordinator has, if it says so. */
  assign(job: LeasedJob, configEtag?: string): void {
    const { held: jobs } = this.#options;
    if (jobs.isKnown(job)) return;
    // A newer lease ends the run of the older one.
    this.halt(job.id, job.lease - 1, "it has a newer lease");
    const held = jobs.hold(job, configEtag);
    if (job.stream) this.#options.streams.prepare();
    if (this.#closedFor !== null) this.release(held, this.#closedFor);
    else this.#startWaiting();
  }

  /** Gives back the waiting jobs, and all that arrive from now on. */
  close(reason: string): void {
    this.#closedFor = reason;
    for (const held of this.#options.held.all("waiting")) this.release(held, reason);
  }

  open(): void {
    this.#closedFor = null;
    this.#startWaiting();
  }

  /** Its stream goes on with the next worker. */
  release(held: HeldJob, reason: string): void {
    const { id: job_id, lease } = held.job;
    this.#options.held.become(held, "reporting");
    this.#options.streams.drop(job_id, lease);
    this.#options.reports.add({ type: "job.released", job_id, lease, reason });
  }

  /** The coordinator took the job back: stop its run. */
  halt(jobId: string, lease: number, reason: string): void {
    const { held: jobs, reports, streams, log } = this.#options;
    const held = jobs.find(jobId);
    if (held === undefined || held.job.lease > lease) return;
    reports.forget(jobId, held.job.lease);
    streams.drop(jobId, held.job.lease);
    if (held.state === "stopping") return;
    log(`job ${jobId} halted: ${reason}`, { event: "job.halted", job_id: jobId });
    if (held.state === "running") {
      jobs.become(held, "stopping");
      held.halt.abort();
    } else this.#drop(held);
  }

  /** The stream has no reader any more: the runtime stops at once, and the coordinator decides about the job. */
  readerGone({ job_id: jobId, lease }: Pick<ReaderGone, "job_id" | "lease">): void {
    const { held: jobs, log } = this.#options;
    const held = jobs.find(jobId);
    if (held === undefined || held.job.lease !== lease || held.state !== "running") return;
    log(`job ${jobId}: the reader of its stream has left`);
    held.halt.abort();
  }

  heartbeat(held: HeldJob): void {
    held.progressSentAtMs = performance.now();
    const progress = held.progress === null ? {} : { progress: held.progress };
    this.#options.reports.add({ type: "job.heartbeat", job_id: held.job.id, lease: held.job.lease, ...progress });
  }

  #startWaiting(): void {
    const { held: jobs, concurrency } = this.#options;
    while (jobs.runningCount < concurrency) {
      const next = jobs.firstWaiting;
      if (next === undefined) return;
      void this.#run(next);
    }
  }

  async #run(held: HeldJob): Promise<void> {
    const { job, halt } = held;
    const { reports, streams, runtime, offeredModels, transfers } = this.#options;
    const lease = { job_id: job.id, lease: job.lease };
    this.#options.held.become(held, "running");
    held.progressSentAtMs = performance.now();
    const current = this.#options.config(held);
    const { timeoutSeconds, model: configuredModel } = current instanceof Promise ? await current : current;
    // Not before: what a short job reports travels in one frame.
    if (!halt.signal.aborted) reports.add({ type: "job.started", ...lease });
    const stream =
      job.stream && !halt.signal.aborted
        ? streams.open(
            job.id,
            job.lease,
            () => this.readerGone(lease),
            isSpeech(job.api ?? null) ? LISTENING_MS : undefined,
          )
        : null;
    const outcome = await runJob(
      job,
      {
        runtime,
        configuredModel,
        offeredModels,
        timeoutSeconds,
        ...transfers,
        onProgress: (progress) => this.#progress(held, progress),
        onFirstToken: () => stream !== null && this.#noteFirstToken(held),
        emit: (events) => stream?.write(events),
        startTold: () => reports.startTold(job.id),
      },
      halt.signal,
    );
    this.#ended(held, outcome);
    this.#startWaiting();
    this.#options.onChange();
  }

  /** A job that has ended by then has told of it with its last report. */
  #noteFirstToken(held: HeldJob): void {
    const { id: job_id, lease } = held.job;
    const note = () => held.state === "running" && this.#options.reports.add({ type: "job.streaming", job_id, lease });
    setTimeout(note, NOTE_FIRST_TOKEN_AFTER_MS).unref();
  }

  #ended(held: HeldJob, outcome: JobOutcome): void {
    const { held: jobs, streams, onNeverReached, log } = this.#options;
    const { id, lease } = held.job;
    const isSpent = outcome.type === "job.spent";
    if (isSpent && (outcome.usage !== undefined || outcome.cost_usd !== undefined)) this.#report(held, outcome);
    if (!jobs.isCurrent(held)) return;
    if (held.state === "stopping") this.#drop(held);
    if (held.state !== "running") return;
    if (isSpent) {
      this.#abandon(held);
      return;
    }
    if (outcome.type === "job.released") {
      log(`job ${id} given back: ${outcome.reason}`, { event: "job.released", job_id: id });
      onNeverReached(outcome.reason);
      this.release(held, outcome.reason);
      return;
    }
    let delivered: Promise<unknown> | undefined;
    if (outcome.type === "job.failed") {
      const { code, message, status } = outcome.error;
      log(`job ${id} failed: ${code}: ${message}`, { event: "job.failed", level: "warn", job_id: id, code });
      delivered = streams.end(id, lease, { code, message, ...(status === undefined ? {} : { status }) });
    } else delivered = streams.end(id, lease, null);
    jobs.become(held, "reporting");
    if (delivered === undefined) this.#report(held, outcome);
    else void delivered.then(() => this.#report(held, outcome));
  }

  /** Its reader has left, and its run has ended. */
  #abandon(held: HeldJob): void {
    this.#options.held.become(held, "abandoned");
    setTimeout(() => {
      if (!this.#options.held.isCurrent(held) || held.state !== "abandoned") return;
      this.#options.held.become(held, "reporting");
      const error = {
        code: "client_closed",
        message: "The client disconnected before the answer was complete",
        retryable: false,
      };
      this.#report(held, { type: "job.failed", error });
    }, HALT_GRACE_MS).unref();
  }

  #report({ job: { id, lease } }: HeldJob, outcome: JobOutcome): void {
    this.#options.reports.add({ ...outcome, job_id: id, lease });
  }

  #progress(held: HeldJob, progress: Progress): void {
    held.progress = progress;
    if (held.state !== "running" || held.isProgressDue) return;
    const waitMs = held.progressSentAtMs + PROGRESS_EVERY_MS - performance.now();
    if (waitMs <= 0) {
      this.heartbeat(held);
      return;
    }
    // The last of a burst is reported, too.
    held.isProgressDue = true;
    setTimeout(() => {
      held.isProgressDue = false;
      if (held.state === "running") this.heartbeat(held);
    }, waitMs).unref();
  }

  #drop(held: HeldJob): void {
    this.#options.held.settle(held);
    this.#options.onDropped();
    this.#options.onChange();
  }
}
