// A job's events as the outbox and history store them: arrays instead of objects, and the detail of an assignment, which
// most jobs have, without its names. Each is written as text once, when it happens.

import type { JobEvent, JobEventType } from "../words/event.ts";
import { hasFields, type Json, type JsonFields } from "../words/json.ts";

/** The events that a job's row holds: those of its versions up to this one. A job with more has the others elsewhere. */
export const EVENTS_IN_ROW = 64;
/** Versions whose events history keeps: who changes a job again and again makes it no larger. */
export const MAX_TOLD_VERSION = 10_000;

type Versioned = Omit<JobEvent, "jobId"> & { readonly version: number };
export type Stored = readonly [
  version: number,
  at: number,
  type: string,
  worker: string | null,
  lease: number,
  detail?: Json,
];

const PREFIX = "job.";
/** Stored by position, so that neither list ever changes; a detail with other names is stored with them. */
const DECISION = ["provider", "score", "breakdown", "strategy", "chain_position", "refused", "runner_up"];
const BREAKDOWN = ["capacity", "success", "freshness", "tag_fit", "model_loaded", "cost", "tier"];

const hasNames = (value: Json | undefined, names: readonly string[]): value is JsonFields => {
  if (!hasFields(value)) return false;
  const own = Object.keys(value);
  return own.length === names.length && own.every((name, index) => name === names[index]);
};

/** Values without their names, if it has these names in this order. */
const shortened = (detail: Json): Json => {
  if (!hasNames(detail, DECISION) || !hasNames(detail.breakdown, BREAKDOWN)) return detail;
  return Object.values({ ...detail, breakdown: Object.values(detail.breakdown) });
};

const named = (names: readonly string[], values: readonly Json[]): JsonFields =>
  Object.fromEntries(names.map((name, index) => [name, values[index] ?? null]));

const lengthened = (detail: Json): Json => {
  if (!Array.isArray(detail)) return detail;
  const decision = named(DECISION, detail);
  return { ...decision, breakdown: named(BREAKDOWN, decision.breakdown as readonly Json[]) };
};

/** One event as JSON. */
export const storedEvent = ({ version, at, type, worker, lease, detail }: Versioned): string => {
  const facts = [version, at, type.slice(PREFIX.length), worker, lease];
  return JSON.stringify(detail === null ? facts : [...facts, shortened(detail)]);
};

export const readStoredEvent = ([version, at, type, worker, lease, detail = null]: Stored): Versioned => ({
  version,
  at,
  type: `${PREFIX}${type}` as JobEventType,
  worker,
  lease,
  detail: lengthened(detail),
});

/** Of a JSON array, oldest first. */
export const readStoredEvents = (text: string): Versioned[] => (JSON.parse(text) as Stored[]).map(readStoredEvent);
