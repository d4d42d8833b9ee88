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

/** Begins the id of a person, and never that of a key. */
export const PERSON_PREFIX = "person_";

/** Who made a change: a key, a session of a key, a person, or the service itself. */
export interface Actor {
  /** Who holds the secret: a key's id, or a person's if it is a session of theirs. */
  readonly keyId: string | null;
  /** The person whose session or personal key it was; missing for everyone else. */
  readonly personId?: string;
  /** The key's name, or the person's with the address. */
  readonly name: string;
}

interface ActorIds {
  readonly keyId: string | null;
  readonly personId?: string | null | undefined;
}

/** The ids of an actor: of the key, unless it was a session of a person, and of the person. */
export const idsOf = ({ keyId, personId }: ActorIds): { keyId: string | null; personId: string | null } => ({
  keyId: keyId?.startsWith(PERSON_PREFIX) ? null : keyId,
  personId: personId ?? null,
});

/** One entry of the audit log. `detail` never contains a secret. */
export interface AuditEntry {
  readonly at: number;
  readonly actor: Actor;
  readonly action: string;
  readonly target: string;
  readonly detail: Json;
}

export const SERVICE_ACTOR: Actor = { keyId: null, name: "signalbox" };
