// What a relay and its tenant say to each other about streams.

import type { AttemptEnd } from "../operations/halts/abandon.ts";
import type { EndError } from "./said-events.ts";

/** A stream that the tenant cuts. */
export interface Cut extends WorkersLease {
  /** null: the job continues with another attempt. */
  readonly error: EndError | null;
}

export interface StreamLease {
  readonly jobId: string;
  readonly lease: number;
}

/** A relay may have the streams of several workers. */
export interface WorkersLease extends StreamLease {
  readonly instance: string;
}

export const leaseOf = ({ jobId, lease }: StreamLease): StreamLease => ({ jobId, lease });
export const keyOf = ({ jobId, lease }: StreamLease): string => `${jobId} ${lease}`;

/** What a relay reports to its tenant, and asks it. */
export interface StreamOwner {
  /** A reader has left, or reads too slowly. */
  readerGone(jobId: string, lease: number, isSlow: boolean): Promise<void>;
  /** Over HTTP a worker's first event is its only report of first output. */
  firstToken(jobId: string, lease: number): Promise<void>;
  /** A client has received part of an attempt that has ended: no other worker continues its job. */
  endBegunAnswer(jobId: string): Promise<void>;
  /** How attempts ended, or that they are running. */
  endsOf(leases: readonly StreamLease[]): Promise<AttemptEnd[]>;
  /** Which of them it gave to this worker. */
  givenTo(instance: string, leases: readonly StreamLease[]): Promise<boolean[]>;
  /** Which of these keys and sessions have not ended. */
  areValid(holders: readonly string[]): Promise<boolean[]>;
  /** A client got the error that its stream is lost: its job ends, too. */
  streamLost(jobId: string, lease: number): Promise<void>;
}
