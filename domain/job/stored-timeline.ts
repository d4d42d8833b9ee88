// A job's events as history stores them beside the job: arrays instead of objects, and the detail of an assignment,
// which most jobs have, without its names.

import type { JobEvent, JobEventType } from "../words/event.ts";
import type { Json } from "../words/json.ts";

/** The events that a job's row holds: those of its versions up to this one. A job with more has the others elsewhere. */
export const EVENTS_IN_ROW = 64;

type Versioned = Omit<JobEvent, "jobId"> & { readonly version: number };
type Stored = readonly [version: number, at: number, type: string, worker: string | null, lease: number, detail?: Json];

const PREFIX = "job.";
/** Stored by position, so that neither list ever changes; a detail with other names is stored with them. */
const DECISION = ["provider", "score", "breakdown", "strategy", "chain_position", "refused", "runner_up"];
const BREAKDOWN = ["capacity", "success", "freshness", "tag_fit", "model_loaded", "cost", "tier"];

type JsonObject = { readonly [name: string]: Json };

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const hasNames = (value: Json | undefined, names: readonly string[]): value is JsonObject => {
  if (!isObject(value)) return false;
  const own = Object.keys(value);
  return own.length === names.length && own.every((name, index) => name === names[index]);
};

/** Values without their names, if it has these names in this order. */
const shortened = (detail: Json): Json => {
  if (!hasNames(detail, DECISION) || !hasNames(detail.breakdown, BREAKDOWN)) return detail;
  return Object.values({ ...detail, breakdown: Object.values(detail.breakdown) });
};

const named = (names: readonly string[], values: readonly Json[]): JsonObject =>
  Object.fromEntries(names.map((name, index) => [name, values[index] ?? null]));

const lengthened = (detail: Json): Json => {
  if (!Array.isArray(detail)) return detail;
  const decision = named(DECISION, detail);
  return { ...decision, breakdown: named(BREAKDOWN, decision.breakdown as readonly Json[]) };
};

/** JSON of an array, oldest first. */
export const storedEvents = (events: readonly Versioned[]): string =>
  JSON.stringify(
    events.map(({ version, at, type, worker, lease, detail }) => {
      const facts = [version, at, type.slice(PREFIX.length), worker, lease] as const;
      return detail === null ? facts : [...facts, shortened(detail)];
    }),
  );

export const readStoredEvents = (text: string): Versioned[] =>
  (JSON.parse(text) as Stored[]).map(([version, at, type, worker, lease, detail = null]) => ({
    version,
    at,
    type: `${PREFIX}${type}` as JobEventType,
    worker,
    lease,
    detail: lengthened(detail),
  }));
