// What happened to a job. The same value is the outbox row, the timeline entry and the row in D1.

import type { Json } from "./json.ts";

export const JOB_EVENT_TYPES = [
  "job.created",
  "job.updated",
  "job.assigned",
  "job.accept_expired",
  "job.started",
  "job.streaming",
  "job.completed",
  "job.failed",
  "job.cancelled",
  "job.released",
  "job.lost",
  "job.retried",
  "job.reaped",
  "job.timed_out",
  "job.halted",
  "job.attempt_failed",
  "job.rate_limited",
  "job.fell_back",
] as const;

export type JobEventType = (typeof JOB_EVENT_TYPES)[number];

export interface JobEvent {
  readonly jobId: string;
  readonly at: number;
  readonly type: JobEventType;
  readonly worker: string | null;
  readonly lease: number;
  readonly detail: Json;
}

/** Who made an administrative change: a key, a session of a key, or the service itself. */
export interface Actor {
  readonly keyId: string | null;
  readonly name: string;
}

/** One entry of the audit log. `detail` never contains a secret. */
export interface AuditEntry {
  readonly at: number;
  readonly actor: Actor;
  readonly action: string;
  readonly target: string;
  readonly detail: Json;
}

export const SERVICE_ACTOR: Actor = { keyId: null, name: "signalbox" };
