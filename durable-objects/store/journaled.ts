// A job of the journal, and what its outbox rows have of it: the first row all of it, a later one what has changed since.

import type { Job, JobPayload } from "../../domain/job/job.ts";
import { changedRecord, journalRecord } from "../../domain/job/job-record.ts";
import type { Json } from "../../domain/words/json.ts";

export interface Journaled {
  job: Job;
  /** The job as its last row has it; null before its first row is written. */
  written: Job | null;
  /** What its next row has of it; empty if no row is to come. */
  text: string;
  /** What its first row has of it, and what it takes with its last change, in characters. */
  beganChars: number;
  recordChars: number;
  dueAt: number | null;
  /** The outbox row of its creation. */
  readonly firstSeq: number;
  /** The outbox row of its last change. */
  changedSeq: number;
  /** Null if it is a row of its own. */
  payload: JobPayload | null;
  payloadChars: number;
  /** Null if there is none, or if it is a row of its own. */
  result: Json;
  resultChars: number;
  /** Its long texts are rows of their own. */
  hasRows: boolean;
  /** What had been written of all jobs when it began, in characters. */
  readonly begunAtChars: number;
}

/** A job after the changes of one outbox row, as that row contains it. Its first row has the payload. */
export interface Change extends Pick<Journaled, "job" | "dueAt" | "result" | "hasRows"> {
  /** `job` has only the fields that changed since the row before. */
  readonly isPart?: true;
  readonly payload?: JobPayload;
  /** Whether it is the first. */
  readonly begins: boolean;
}

/** Writes what its next row has of it: all of it in the first, then what has changed since the last. */
export const tell = (kept: Journaled): void => {
  const { written, job } = kept;
  kept.text = written === null ? `{"job":${journalRecord(job)}` : `{"job":${changedRecord(written, job)},"isPart":true`;
  if (written === null) kept.beganChars = kept.text.length;
  kept.recordChars = written === null ? kept.beganChars : kept.beganChars + kept.text.length;
};

export const noteWritten = (kept: Journaled): void => {
  kept.written = kept.job;
  kept.text = "";
};

/** What a row has of a job: as it is after the commit, also if it changed again in a later row of it. */
export const changeIn = (kept: Journaled, seq: number): string => {
  const { firstSeq, changedSeq, dueAt, payload, result, hasRows, text, job } = kept;
  const begins = firstSeq === seq;
  const told = begins && changedSeq !== seq ? `{"job":${journalRecord(job)}` : text;
  // JSON leaves out what is undefined.
  const beside = { begins, dueAt, result, hasRows, payload: begins ? (payload ?? undefined) : undefined };
  return `${told},${JSON.stringify(beside).slice(1)}`;
};

export const charsOf = ({ recordChars, payloadChars, resultChars }: Journaled): number =>
  recordChars + payloadChars + resultChars;

export const payloadCharsOf = ({ prompt, input }: JobPayload): number => prompt.length + JSON.stringify(input).length;

export const resultCharsOf = (result: Json): number => (result === null ? 0 : JSON.stringify(result).length);
