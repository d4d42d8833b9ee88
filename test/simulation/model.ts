// What the world outside was told and asked for, to compare with the object's state.

import type { Job } from "../../domain/job/job.ts";
import type { NewJob } from "../../domain/job/new-job.ts";
import type { Allowance } from "./actors/key-limits.ts";
import { Parsed } from "./invariants/parsed.ts";

/** A creation that a client sent, and its answer. */
export interface Creation {
  readonly operation: "createJob" | "dispatch";
  readonly job: NewJob;
  readonly mayQueue: boolean;
  readonly key: string | null;
  /** When it was first sent, and when it was last sent without a known answer; its answer was made in between. */
  askedAt: number;
  lastAskedAt: number;
  /** Null until a successful answer arrived. */
  jobId: string | null;
  /** A day after `askedAt` the key may begin again: what it stood for until then, as the object may remember it longer. */
  before: { readonly jobId: string; readonly askedAt: number } | null;
}

/** What was last seen of a job, anywhere. */
export interface Seen {
  readonly job: Job;
  readonly isHere: boolean;
}

export class Model {
  readonly creations: Creation[] = [];
  /** Batches that clients asked for: the file of each, and the names of its lines. */
  readonly batches: { readonly id: string; readonly fileId: string; readonly names: readonly string[] }[] = [];
  /** What was sent of each file. */
  readonly sentFiles = new Map<string, { readonly bytes: number; readonly sha256: string }>();
  /** Jobs whose answer is stored. */
  readonly responses: string[] = [];
  /** Files, stored answers and batches whose deletion was answered. */
  readonly deleted = new Set<string>();
  /** Every job whose creation was answered, by its id, with its prompt. */
  readonly accepted = new Map<string, string>();
  /** Those that were answered since the last check. */
  newlyAccepted: string[] = [];
  /** The greatest concurrency that each worker reported since the last check of a commit of its own. */
  readonly offered = new Map<string, number>();
  /** Prompts that clients sent; schedules create jobs of their own. */
  readonly asked = new Set<string>();
  /** Those sent again after their key was forgotten: they may make two jobs. */
  readonly askedAgain = new Set<string>();
  readonly schedulePrompts = new Set<string>();
  /** The job that each prompt was last seen in. */
  readonly madeOf = new Map<string, string>();
  /** Prompts of creations that were refused, and never answered otherwise. */
  readonly refused = new Set<string>();
  /** How many there were when they were last looked for. */
  refusedCount = 0;
  /** The worker that each lease was given to, by `job/lease`. */
  readonly holders = new Map<string, string>();
  /** The job and lease that each result was reported for, by the number in it. */
  readonly reports: { readonly jobId: string; readonly lease: number }[] = [];
  /** Completions with a successful answer. */
  readonly completed = new Map<string, number>();
  newlyCompleted: string[] = [];
  /** Jobs that someone asked to retry. */
  readonly retried = new Set<string>();
  /** Workers that an operator resumed, also under the killswitch. */
  readonly resumed = new Set<string>();
  /** The last sign of life that reached the object, by worker. */
  readonly signs = new Map<string, number>();
  /** The same in elapsed time. */
  readonly heardAt = new Map<string, number>();
  /** When it last tried, in elapsed time: the object may have heard of it, although the worker got no answer. */
  readonly triedAt = new Map<string, number>();
  readonly seen = new Map<string, Seen>();
  /** Events, attempts and runs of every outbox row so far, by their key in history. */
  readonly events = new Map<string, string>();
  /** How many events of each type. */
  readonly eventsByType = new Map<string, number>();
  readonly attempts = new Map<string, number | null>();
  /** Where those count that were not corrected yet. */
  readonly attemptPlaces = new Map<string, { provider: string; at: number; keyId: string | null | undefined }>();
  /** Their total cost. */
  attemptedNanoUsd = 0;
  /** Leases whose start was told, and not their end. */
  readonly startedLeases = new Set<string>();
  /** Streams and requests that were taken from a worker that had started them. */
  readonly owed = new Set<string>();
  readonly dueRuns = new Map<string, string>();
  readonly runsByHand = new Set<string>();
  lastSeq = 0;
  /** How often each audit entry is expected for a successful answer, and how often it was sent. */
  readonly answered = new Map<string, number>();
  readonly audited = new Map<string, number>();
  /** Entries that were sent and not yet seen in history. */
  readonly auditTexts = new Map<string, number>();
  lastAuditRow = 0;
  runCount = 0;
  /** When the object last heard of a job from its holder, in elapsed time, by `job/lease`. */
  readonly beats = new Map<string, number>();
  /** How long a provider asked to be left alone, by the `job/lease` that it refused. */
  readonly askedToWait = new Map<string, number>();
  /** The most attempts that a job was ever allowed. */
  readonly mostAttempts = new Map<string, number>();
  /** Jobs that the current killswitch put back. */
  readonly putBack = new Set<string>();
  /** Until when a worker that was heard to lack a model may not have a job for it; by worker and model. */
  readonly lacking = new Map<string, { readonly fromAt: number; readonly untilAt: number }>();
  /** The lease under which a job sent its first output. */
  readonly spoke = new Map<string, number>();
  /** The cost of attempts, by day or month, and by provider or in total. */
  readonly spent = new Map<string, number>();
  /** Jobs that the limited key created in the minute that began with the first of them. */
  minute = { fromAt: Number.NEGATIVE_INFINITY, count: 0 };
  /** What attempts of its jobs cost, by day; and today, as of the last check. */
  readonly spentByLimited = new Map<string, number>();
  spentBefore = 0;
  /** The requests that it has left. */
  allowance: Allowance = { at: 0, life: "", most: 0, least: 0 };
  /** Providers whose budget was reached at the last check. */
  closedByMoney: ReadonlySet<string> = new Set();
  /** Every delivery to a webhook so far. */
  readonly deliveries = new Set<string>();
  /** Due deliveries to endpoints that answer, and since when each waits, in elapsed time. */
  readonly waitingSince = new Map<string, number>();
  /** Deliveries that tell the silence of a worker. */
  readonly silences = new Set<string>();
  /** When a webhook was last told of a worker's silence, in elapsed time, by both. */
  readonly toldSilent = new Map<string, number>();
  /** Jobs to compare between history and the object: one of them was written since they last agreed. */
  readonly uncompared = new Set<string>();
  /** What history had when its events and attempts were last compared. */
  comparedHistory = "";
  readonly violations: string[] = [];
  /** Records as they were read, shared by equal texts. */
  readonly parsed = new Parsed();

  accept(id: string, prompt: string): void {
    if (!this.accepted.has(id)) this.newlyAccepted.push(id);
    this.accepted.set(id, prompt);
  }

  acknowledge(id: string, lease: number): void {
    this.completed.set(id, lease);
    this.newlyCompleted.push(id);
  }

  violate(what: string): void {
    this.violations.push(what);
  }
}
