// One turn: a synchronous step that reads, decides and writes. Time, randomness and identity are arguments. What must
// leave the object (frames, answers to waiting requests) is collected here and sent after the commit.

import type { CoordinatorMessage } from "../../contract/socket.ts";
import { toIso } from "../../contract/words/field.ts";
import type { Role } from "../../domain/access/key.ts";
import { type BatchRecord, isEnded } from "../../domain/batch/batch.ts";
import type { Worker } from "../../domain/fleet/worker.ts";
import { type Decision, isLeased, type Job, labelChars } from "../../domain/job/job.ts";
import { holds } from "../../domain/job/lease-fence.ts";
import { AUDITED_EVENTS, type WebhookEvent } from "../../domain/webhook.ts";
import type { Actor, JobEvent, JobEventType } from "../../domain/words/event.ts";
import { isFinal } from "../../domain/words/job-status.ts";
import type { Json } from "../../domain/words/json.ts";
import type { LogFields, LogLevel } from "../../log/log.ts";
import type { Store } from "../store/open.ts";
import type { Attempt, Correction, ScheduleRun } from "../store/outbox.ts";
import type { TenantIdentity } from "../store/settings.ts";
import { type Announcement, jobAnnouncement } from "./announcement.ts";
import { noteEndOfLine } from "./batch-end.ts";
import { countChange } from "./counting.ts";
import { dueAtOf } from "./deadline.ts";
import { noEffects } from "./effects.ts";
import { reindex } from "./job-place.ts";
import { countByKey } from "./key-counts.ts";
import { LazySet } from "./lazy-set.ts";
import type { Memory } from "./memory/memory.ts";
import type { OutboxWriter } from "./outbox-writer.ts";
import { noteEndOfResponse } from "./response-end.ts";
import { noteUnreported } from "./uncounted.ts";

export interface Caller extends Actor {
  readonly role: Role;
  /** Digest of the secret that the caller used, or that its session was opened with. */
  readonly secretHash?: string;
  /** The request of the turn; missing for a frame, an alarm or a schedule. */
  readonly requestId?: string;
}

/** Time, randomness, identity and the state of sockets, provided by the shell. */
export interface TurnContext {
  readonly nowAt: number;
  /** In [0, 1). */
  readonly random: () => number;
  readonly newId: () => string;
  /** The last sign of life on a worker's socket, epoch ms; null if none is open. */
  readonly lastSocketSign: (instance: string, keyId?: string | null) => number | null;
  /** The path of a link to a file, readable until then. */
  readonly signLink: (file: { readonly id: string; readonly name: string }, untilAt: number) => string;
  /** Where people reach the service, if its operator says so. */
  readonly publicOrigin?: string | null | undefined;
}

const CANCELLED = { code: "cancelled", message: "the job was cancelled" };

const ASKED_EVENTS: ReadonlySet<JobEventType> = new Set(["job.created", "job.updated", "job.cancelled", "job.retried"]);

export class Turn {
  readonly effects = noEffects();

  /** Workers with new room, groups with new jobs, and providers that were at their limit, for `assignWaiting`. */
  readonly freedWorkers = new LazySet<string>();
  readonly openedGroups = new LazySet<string>();
  readonly openedProviders = new LazySet<string>();
  isAllOpened = false;
  /** It recorded spending, even if it refused the report. */
  hasSpent = false;
  /** What webhooks get of it. */
  readonly announcements: Announcement[] = [];
  /** The earliest instant at which this turn made something due. */
  wakeAt = Number.POSITIVE_INFINITY;

  readonly store: Store;
  readonly memory: Memory;
  readonly caller: Caller;
  readonly #context: TurnContext;
  readonly #outbox: OutboxWriter;

  constructor(store: Store, memory: Memory, outbox: OutboxWriter, context: TurnContext, caller: Caller) {
    this.store = store;
    this.memory = memory;
    this.caller = caller;
    this.#context = context;
    this.#outbox = outbox;
  }

  get nowAt(): number {
    return this.#context.nowAt;
  }

  random(): number {
    return this.#context.random();
  }

  newId(): string {
    return this.#context.newId();
  }

  /** `keyId`: of a socket that this key opened. */
  lastSocketSign(instance: string, keyId?: string | null): number | null {
    return this.#context.lastSocketSign(instance, keyId);
  }

  signLink(file: { readonly id: string; readonly name: string }, untilAt: number): string {
    return this.#context.signLink(file, untilAt);
  }

  /** For links: `called` is where the service was called when it was told of what the link leads to. */
  originOf(called: string): string {
    return this.#context.publicOrigin ?? called;
  }

  /** Stores a decision about a job: its row, its place in the indexes, its events. The only writer of jobs. */
  record(before: Job | null, decision: Decision): void {
    const { job } = decision;
    if (before === job) return;
    reindex(this, before, job);
    this.#noteBeat(before, job);
    const dueAt = dueAtOf(job, this.memory);
    this.due(dueAt);
    if (job.version === before?.version) this.touch(job, dueAt);
    else this.#store(before, job, dueAt);
    if (decision.payload !== undefined) this.#outbox.addChars(this.store.payloads.put(job.id, decision.payload));
    if (decision.result !== undefined) this.#outbox.addChars(this.store.payloads.putResult(job.id, decision.result));
    this.#tell(job, decision.events);
    this.effects.changedJobs.add(job.id);
    if (before?.stream) this.#cutStream(before, job);
    if (job.status === "failed") this.#logFailure(job);
    countChange(this.memory, before, job, this.nowAt);
    const { counters, open } = this.memory;
    counters.activitySlots.noteChange(this.store.activity, before, job, open, this.nowAt);
    if (isFinal(job.status)) this.#noteEnd(before, job, decision.result ?? null);
    countByKey(this, before, job);
    noteUnreported(this, before, job);
  }

  /** What follows from a job's end. */
  #noteEnd(before: Job | null, job: Job, result: Json): void {
    this.effects.finishedJobs.add(job.id);
    if (job.frontDoor?.isBodyHeld === true) this.effects.droppedBodies.push(job.id);
    if (job.api !== null) this.#dropUploads(job);
    if (before?.status !== job.status) this.#announce(() => jobAnnouncement(job));
    if (job.batch !== null && (before === null || !isFinal(before.status))) noteEndOfLine(this, job, result);
    if (job.api === "responses" && job.batch === null) noteEndOfResponse(this, job, result);
  }

  /** The files of a client's request are for its job alone. */
  #dropUploads(job: Job): void {
    for (const id of job.files) {
      this.store.files.remove(id);
      this.effects.droppedFiles.push(id);
    }
  }

  #store(before: Job | null, job: Job, dueAt: number | null): void {
    const { jobs } = this.store;
    const seq = this.#outbox.open(this.nowAt);
    this.#outbox.addRecord(before === null ? jobs.add(job, dueAt, seq) : jobs.put(job, dueAt, seq));
    if (before === null) this.#outbox.addChars(labelChars(job));
  }

  /** Stores a change that history does not hear of: an instant of the job, or when it is looked at next. */
  touch(job: Job, dueAt: number | null): void {
    this.#outbox.addRecord(this.store.jobs.touch(job, dueAt, () => this.#outbox.open(this.nowAt)));
  }

  /** Not if its worker's report ended the job: that worker ends its stream itself. */
  #cutStream(before: Job, after: Job): void {
    const isOver = isLeased(before) && !holds(after, before.lease);
    const isReported = isFinal(after.status) && after.settledBy !== null;
    if (!isOver || before.assignedWorker === null || isReported) return;
    const error = isFinal(after.status) ? (after.error ?? CANCELLED) : null;
    this.effects.cuts.push({ instance: before.assignedWorker, jobId: before.id, lease: before.lease, error });
  }

  /** A heartbeat of a running job. Its row may keep an older instant. */
  noteBeat({ id, heartbeatAt }: Job): void {
    this.memory.beats.set(id, { storedAt: heartbeatAt, heardAt: this.nowAt });
  }

  /** Examines jobs again that some worker failed: another may be eligible now. */
  reopenAvoiding(): void {
    for (const { key } of this.memory.queue.avoiding) this.openedGroups.add(key);
  }

  putWorker(worker: Worker): void {
    if (this.memory.fleet.get(worker.instance)?.worker.keyId !== worker.keyId) this.effects.handedOver.push(worker);
    this.store.workers.put(worker);
    this.memory.unstoredWorkers.delete(worker.instance);
    this.memory.fleet.put(worker, this.nowAt);
    this.due(worker.pause?.untilAt ?? null);
    this.due(worker.opening?.changesAt ?? null);
    this.effects.changedWorkers.add(worker.instance);
  }

  /** A change that follows from other stored values: in memory only, computed again when the object wakes. */
  showWorker(worker: Worker): void {
    this.memory.fleet.put(worker, this.nowAt);
    this.effects.changedWorkers.add(worker.instance);
  }

  /** A change that may be lost with the object's memory; the next drain or stored heartbeat stores it. */
  rememberWorker(worker: Worker): void {
    this.memory.unstoredWorkers.add(worker.instance);
    this.showWorker(worker);
  }

  /** `by` is given if it is not the caller's own action. */
  audit(action: string, target: string, detail: Json = null, by: Actor = this.caller): void {
    const { keyId, personId, name } = by;
    const actor = personId === undefined ? { keyId, name } : { keyId, personId, name };
    this.#outbox.addAudit({ at: this.nowAt, actor, action, target, detail });
    this.log("info", action, { key_id: keyId, actor: name, target });
    const event = AUDITED_EVENTS[action];
    if (event === undefined) return;
    this.announce(event, { target, by: name, ...(detail as object | null) });
  }

  /** A log line, written after the turn is stored. */
  log(level: LogLevel, event: string, fields: LogFields): void {
    const { requestId } = this.caller;
    this.effects.log.push({ level, event, fields: { request_id: requestId, ...fields } });
  }

  #logFailure({ id, assignedWorker, error, attempts }: Job): void {
    const worker = assignedWorker === null ? {} : { worker: assignedWorker };
    this.log("warn", "job.failed", { job_id: id, ...worker, code: error?.code, detail: `attempt ${attempts}` });
  }

  recordAttempt(attempt: Attempt): void {
    this.hasSpent = true;
    this.#outbox.addAttempt(attempt, this.nowAt);
    this.effects.changedTopics.add("cost");
  }

  /** What an attempt spent takes the place of its estimate. */
  recordCorrection(correction: Correction): void {
    this.hasSpent = true;
    this.#outbox.addCorrection(correction, this.nowAt);
    this.effects.changedTopics.add("cost");
  }

  /** Of a job that has left. */
  recordLateCost(cost: Correction): void {
    this.#outbox.addLateCost({ ...cost, toldAt: this.nowAt });
    this.memory.outbox.lateCosts.note(cost);
  }

  recordRun(run: ScheduleRun): void {
    this.#outbox.addRun(run);
    this.effects.changedTopics.add("schedule");
    if (run.missed === 0) return;
    const { schedule, scheduledFor, outcome, missed } = run;
    const data = { schedule, scheduled_for: toIso(scheduledFor), outcome, missed };
    this.announce("schedule.missed", data);
  }

  /** The only writer of batches. */
  putBatch(batch: BatchRecord): void {
    this.store.batches.put(batch);
    if (isEnded(batch)) this.memory.batches.open.delete(batch.id);
    else this.memory.batches.open.set(batch.id, batch);
  }

  /** What is about no job. */
  announce(event: WebhookEvent, data: Json): void {
    this.#announce(() => ({ event, data, tags: null }));
  }

  recordIdentity(identity: TenantIdentity): void {
    this.#outbox.addIdentity(identity);
  }

  /** Something must be looked at no later than this. */
  due(at: number | null): void {
    if (at !== null && at < this.wakeAt) this.wakeAt = at;
  }

  /** Tells the worker that holds a job, if any, to drop it. */
  sendHalt(job: Job, reason: string): void {
    if (!isLeased(job) || job.assignedWorker === null) return;
    this.send(job.assignedWorker, { type: "job.halted", job_id: job.id, lease: job.lease, reason });
  }

  send(instance: string, message: CoordinatorMessage): void {
    this.effects.frames.push({ instance, message });
  }

  #noteBeat(before: Job | null, after: Job): void {
    if (after.status !== "running") this.memory.beats.delete(after.id);
    else if (before?.heartbeatAt !== after.heartbeatAt) this.noteBeat(after);
  }

  /** Skipped if no webhook could get it. */
  #announce(make: () => Announcement): void {
    if (this.memory.webhooks.length > 0) this.announcements.push(make());
  }

  #tell(job: Job, events: readonly JobEvent[]): void {
    let version = job.version - events.length;
    for (const event of events) {
      version += 1;
      this.#outbox.addEvent(this.#withRequest(event), version);
    }
  }

  /** An event caused by an owner's request has the request's id, which leads to the log. */
  #withRequest(event: JobEvent): JobEvent {
    const { requestId } = this.caller;
    if (requestId === undefined || !ASKED_EVENTS.has(event.type)) return event;
    return { ...event, detail: { ...(event.detail as object | null), request_id: requestId } };
  }
}
