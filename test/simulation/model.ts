// What the world outside was told and asked for: the record that the object's truth is held against.

import type { Job, NewJob } from "../../domain/job.ts";
import { Parsed } from "./parsed.ts";

/** A creation that a client asked for, and what it heard. */
export interface Creation {
  readonly operation: "createJob" | "dispatch";
  readonly job: NewJob;
  readonly mayQueue: boolean;
  readonly key: string | null;
  /** When it was first sent, and when it was last sent without an answer known: in between its answer was made. */
  askedAt: number;
  lastAskedAt: number;
  /** Null until a good answer was heard. */
  jobId: string | null;
}

/** What was last seen of a job, wherever it was. */
export interface Seen {
  readonly job: Job;
  readonly isHere: boolean;
}

export class Model {
  readonly creations: Creation[] = [];
  /** Every job whose creation was answered, by its id, with its prompt. */
  readonly accepted = new Map<string, string>();
  /** Those that were answered since the last look. */
  newlyAccepted: string[] = [];
  /** Prompts that clients sent; schedules make jobs of their own. */
  readonly asked = new Set<string>();
  /** Those that were sent again after their key was forgotten: they may make two jobs. */
  readonly askedAgain = new Set<string>();
  readonly schedulePrompts = new Set<string>();
  /** Prompts of creations that were refused, and never answered otherwise. */
  readonly refused = new Set<string>();
  /** To whom each lease was given, by `job/lease`. */
  readonly holders = new Map<string, string>();
  /** The job and lease that each result was reported for, by the number in it. */
  readonly reports: { readonly jobId: string; readonly lease: number }[] = [];
  /** Completions that were answered with a good answer. */
  readonly completed = new Map<string, number>();
  newlyCompleted: string[] = [];
  /** Jobs that someone asked to be tried again. */
  readonly retried = new Set<string>();
  /** Workers that an operator resumed by hand, under the killswitch too. */
  readonly resumed = new Set<string>();
  /** The last sign of life that reached the object, by worker. */
  readonly signs = new Map<string, number>();
  readonly seen = new Map<string, Seen>();
  /** Events, attempts and runs of every outbox row there ever was, by their key in history. */
  readonly events = new Map<string, string>();
  readonly attempts = new Map<string, number | null>();
  /** What they cost in all. */
  attemptedNanoUsd = 0;
  readonly dueRuns = new Map<string, string>();
  readonly runsByHand = new Set<string>();
  lastSeq = 0;
  /** How far the events of history were compared, and how many they are. */
  lastEventRow = 0;
  eventCount = 0;
  lastDelivery = 0;
  auditCount = 0;
  runCount = 0;
  /** When the object last heard of a job from its holder, by `job/lease`. */
  readonly beats = new Map<string, number>();
  /** For how long a provider asked to be left alone, by the `job/lease` that it refused. */
  readonly askedToWait = new Map<string, number>();
  /** The most attempts that a job was ever allowed. */
  readonly mostAttempts = new Map<string, number>();
  /** Jobs that the killswitch under way put back. */
  readonly putBack = new Set<string>();
  /** The lease under which a job said its first word. */
  readonly spoke = new Map<string, number>();
  /** What attempts cost, by day or month, and by provider or in all. */
  readonly spent = new Map<string, number>();
  /** Providers whose budget was reached at the last look. */
  closedByMoney: ReadonlySet<string> = new Set();
  /** Every delivery to a webhook that there was. */
  readonly deliveries = new Set<string>();
  /** Jobs that history and the object must be compared about: one of them was written since they last agreed. */
  readonly uncompared = new Set<string>();
  /** What history had when its events and attempts were last compared. */
  comparedHistory = "";
  readonly violations: string[] = [];
  /** Records as they were read, shared by all who read the same. */
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
