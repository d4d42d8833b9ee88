// Calls a hosted provider for a tenant: an object for each 32 places (`<tenant>/edge-<provider>-<n>`), a worker to the
// tenant like any other, and the relay of its own streams. An object ends soon after its last request, whatever it
// still fetches; its alarm runs as long as it has calls, and keeps it. A call that is lost with its object is a lost
// attempt, which the tenant notices by its silence.

import type { LeasedJob } from "../../contract/fleet/worker.ts";
import type { JobReport } from "../../contract/socket.ts";
import { parseExact } from "../../contract/text/exact-json.ts";
import { apisOf } from "../../domain/catalog/catalog.ts";
import { EDGE_BEAT_MS } from "../../domain/fleet/worker.ts";
import { MINUTE_MS } from "../../domain/words/duration.ts";
import { bodyName, type Jurisdiction, objectNamed } from "../../durable-objects/object-name.ts";
import type { EdgeState } from "../../durable-objects/operations/fleet/edge-workers.ts";
import { Relay } from "../../durable-objects/relay/relay.ts";
import { holdUrl } from "../../durable-objects/relay/relay-request.ts";
import type { RunnerCalls, ToRunner } from "../../durable-objects/relay/runner-calls.ts";
import type { Cut, StreamLease } from "../../durable-objects/relay/stream-owner.ts";
import { log } from "../../log/log.ts";
import type { Spent } from "../../worker/apis/usage.ts";
import type { JobFailure } from "../../worker/calls/runtime.ts";
import type { LoadedInput } from "../../worker/load-input.ts";
import { type JobOutcome, runJob, spendingOf } from "../../worker/run-job.ts";
import type { Env } from "../env.ts";
import { readBytes, TO_THE_END } from "../files/objects.ts";
import { keepResult } from "./keep-result.ts";
import { providerRuntime } from "./provider-runtime.ts";
import { callAuth } from "./provider-way.ts";
import { openKeys, providerNamed } from "./tenant-keys.ts";

/** An alarm may run for a quarter of an hour, and is set again before. */
const HOLD_MS = 10 * MINUTE_MS;
/** No call outlives the time for which the platform keeps its object. */
const LONGEST_CALL_SECONDS = 14 * 60;
const LOOK_MS = 1_000;
/** Reports of 200 halted calls, sent at once, would hold up the closing of their connections fourfold. */
const HALTED_FIRST_MS = 250;
/** Between the tries of a report: the tenant's object may be starting again, and the answer has been paid for. */
const TELL_AGAIN_MS = [500, 1_000, 2_000, 4_000, 8_000];

const TOO_DEEP: JobFailure = {
  code: "internal",
  message: "The provider's answer nests too deep",
  status: 502,
  retryable: false,
};

interface Call {
  readonly job: LeasedJob;
  readonly halt: AbortController;
}

export class Runner extends Relay<Env> implements RunnerCalls {
  readonly #calls = new Map<string, Call>();
  #isHeld = false;
  #keys: ReturnType<typeof openKeys> | null = null;

  async hear({ messages, jurisdiction }: ToRunner): Promise<void> {
    this.jurisdiction = jurisdiction;
    for (const message of messages) {
      if (message.type === "job.assigned") this.#begin(message.job);
      else if (message.type === "job.halted") this.#halt(message.job_id, message.lease);
    }
  }

  async state(jurisdiction: Jurisdiction | null): Promise<EdgeState> {
    this.jurisdiction = jurisdiction;
    const provider = this.#provider;
    // A key that was set or removed just now counts at once.
    this.#keys = null;
    const known = providerNamed(this.env, provider);
    if (known === undefined) return { apis: [], unavailable: `there is no provider "${provider}" in the catalog` };
    if (known.api === undefined)
      return { apis: [], unavailable: `the catalog does not say how "${provider}" is called (its file has no "api")` };
    const auth = callAuth({ ...known, api: known.api });
    const missing = auth === null ? null : await this.#vault().missing(auth.ref);
    return { apis: apisOf(known.api), unavailable: missing };
  }

  override async cut(cuts: readonly Cut[]): Promise<void> {
    for (const { jobId, lease } of cuts) this.#halt(jobId, lease);
    await super.cut(cuts);
  }

  protected override stopWriter(_instance: string, { jobId, lease }: StreamLease): void {
    this.#halt(jobId, lease);
  }

  override async end(): Promise<void> {
    for (const { halt } of this.#calls.values()) halt.abort();
    await super.end();
  }

  /** Keeps the object while it has calls. */
  override async alarm(): Promise<void> {
    this.#isHeld = true;
    const untilAt = Date.now() + HOLD_MS;
    let beatAt = Date.now() + EDGE_BEAT_MS;
    while (this.#calls.size > 0 && Date.now() < untilAt) {
      await scheduler.wait(LOOK_MS);
      if (Date.now() < beatAt) continue;
      beatAt = Date.now() + EDGE_BEAT_MS;
      this.#beat();
    }
    this.#isHeld = false;
    if (this.#calls.size > 0) await this.ctx.storage.setAlarm(Date.now());
  }

  #hold(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(Date.now()));
  }

  #begin(job: LeasedJob): void {
    const key = keyOf(job.id, job.lease);
    if (this.#calls.has(key)) return;
    const call = { job, halt: new AbortController() };
    this.#calls.set(key, call);
    this.#hold();
    const done = this.#run(call)
      .catch((error: unknown) => log("error", "runner.failed", { job_id: job.id }, error))
      .finally(() => this.#calls.delete(key));
    this.ctx.waitUntil(done);
  }

  #halt(jobId: string, lease: number): void {
    this.#calls.get(keyOf(jobId, lease))?.halt.abort();
  }

  async #run({ job, halt }: Call): Promise<void> {
    const lease = { job_id: job.id, lease: job.lease };
    const stream = { jobId: job.id, lease: job.lease };
    const provider = providerNamed(this.env, this.#provider);
    if (provider?.api === undefined) {
      await this.#reportSurely({
        type: "job.released",
        id: job.id,
        ...lease,
        reason: "its provider is not in the catalog",
      });
      return;
    }
    const vault = this.#vault();
    const { runtime, way } = providerRuntime({ ...provider, api: provider.api }, vault.connector);
    // What its end tells matters more.
    const started = this.#reportSurely({ type: "job.started", id: job.id, ...lease }).catch(() => undefined);
    const settings = {
      runtime,
      configuredModel: null,
      offeredModels: [],
      timeoutSeconds: LONGEST_CALL_SECONDS,
      loadInput: () => this.#loadInput(job.id),
      storeResult: (_job: LeasedJob, bytes: AsyncIterable<Uint8Array>, type: string) =>
        keepResult(this.#place, this.tenant(), job, way.withoutKey(bytes), type),
      openFile: ({ id }: LeasedJob["files"][number]) => readBytes({ ...this.#place, id }, 0, TO_THE_END),
      onProgress: () => undefined,
      onFirstToken: () => {
        if (job.stream) this.#reportIfPossible({ type: "job.streaming", id: job.id, ...lease });
      },
      emit: (events: readonly string[]) => {
        if (!job.stream || halt.signal.aborted) return undefined;
        return this.streamsOf(this.#instance).say(stream, events.join(""));
      },
    };
    const outcome = await runJob({ ...job, timeout_seconds: boundOf(job) }, settings, halt.signal);
    // Of many halted calls each connection is closed before any of them is reported.
    if (halt.signal.aborted) await scheduler.wait(HALTED_FIRST_MS);
    await started;
    // A key that has been replaced since is refused for good reason.
    const isCurrent = vault === this.#keys;
    const refusal = isCurrent && outcome.type === "job.failed" ? way.refusalOf(outcome.error) : null;
    // The report first: a stream that fails before its first event may go on elsewhere.
    const told = await this.#tell(job, () => way.hide(outcome), refusal).catch((error: unknown) => {
      // What nests some thousand levels deep becomes neither a text nor a message to the tenant.
      if (!(error instanceof RangeError)) throw error;
      return this.#tell(job, () => ({ ...spendingOf(outcome as Spent), type: "job.failed", error: TOO_DEEP }), refusal);
    });
    if (!job.stream || halt.signal.aborted || told.type === "job.spent" || told.type === "job.released") return;
    this.streamsOf(this.#instance).end(stream, told.type === "job.failed" ? told.error : null);
  }

  async #tell(job: LeasedJob, outcome: () => JobOutcome, refusal: string | null): Promise<JobOutcome> {
    const told = outcome();
    await this.#reportSurely({ ...told, id: job.id, job_id: job.id, lease: job.lease } as JobReport, refusal);
    return told;
  }

  async #report(report: JobReport, refusal: string | null = null): Promise<void> {
    const isTaken = await this.tenant().hearRunner(this.#instance, report, refusal);
    if (!isTaken) this.#halt(report.job_id, report.lease);
  }

  /** The tenant knows a repeated report by its lease. */
  async #reportSurely(report: JobReport, refusal: string | null = null): Promise<void> {
    for (const pauseMs of TELL_AGAIN_MS) {
      try {
        return await this.#report(report, refusal);
      } catch (error) {
        if (error instanceof RangeError) throw error;
        await scheduler.wait(pauseMs);
      }
    }
    return this.#report(report, refusal);
  }

  #reportIfPossible(report: JobReport): void {
    this.ctx.waitUntil(this.#report(report).catch(() => undefined));
  }

  /** Keeps the jobs from being reaped; a job that the tenant has taken back ends here. */
  #beat(): void {
    for (const { job } of this.#calls.values())
      this.#reportIfPossible({ type: "job.heartbeat", id: job.id, job_id: job.id, lease: job.lease });
  }

  /** A body that is too large for the tenant is stored in an object of its own. */
  async #loadInput(jobId: string): Promise<LoadedInput> {
    const store = objectNamed<Fetcher>(this.env.RELAY, bodyName(this.#tenantName, jobId), this.jurisdiction);
    const held = await store.fetch(holdUrl(jobId));
    const text = await held.text();
    if (held.ok) return { ok: true, input: parseExact(text) };
    return { ok: false, error: { code: "input_unavailable", message: "the job's body is gone", retryable: false } };
  }

  #vault(): ReturnType<typeof openKeys> {
    this.#keys ??= openKeys(this.env, this.#tenantName, (provider) => this.tenant().sealedKey(provider));
    return this.#keys;
  }

  /** The address is not used: a link to the result is made when somebody reads it. */
  get #place(): Parameters<typeof keepResult>[0] {
    const name = { tenant: this.#tenantName, jurisdiction: this.jurisdiction };
    return { env: this.env, name, origin: "" };
  }

  get #tenantName(): string {
    return (this.ctx.id.name ?? "").split("/")[0] ?? "";
  }

  get #instance(): string {
    return (this.ctx.id.name ?? "").split("/")[1] ?? "";
  }

  get #provider(): string {
    return this.#instance.replace(/^edge-/, "").replace(/-\d+$/, "");
  }
}

const keyOf = (jobId: string, lease: number): string => `${jobId} ${lease}`;

const boundOf = ({ timeout_seconds: asked }: LeasedJob): number =>
  Math.min(asked ?? LONGEST_CALL_SECONDS, LONGEST_CALL_SECONDS);
