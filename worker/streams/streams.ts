// Where running jobs write what their readers get.

import type { StreamError } from "../../contract/data-line.ts";

export type StreamWriter = {
  /** A returned promise asks the writer to wait: the line is full. */
  write: (events: readonly string[]) => Promise<void> | undefined;
};

/** Called when a stream has no reader any more. */
export type WhenGone = () => void;

/** Under which a stream is known: a job may have been here under an older lease. */
export const streamKey = (jobId: string, lease: number): string => `${jobId} ${lease}`;

export type Streams = {
  /** A streamed job has arrived: open the line now, so that its first output does not wait for a handshake. */
  prepare: () => void;
  /** `patienceMs`: how long its readers may take nothing before what it says goes on to them. */
  open: (jobId: string, lease: number, whenGone: WhenGone, patienceMs?: number) => StreamWriter;
  /** A returned promise is settled when the coordinator has all of it: the job's report must not come before. */
  end: (jobId: string, lease: number, error: StreamError | null) => Promise<unknown> | undefined;
  /** The stream is no longer this worker's: nothing more is written to it. */
  drop: (jobId: string, lease: number) => void;
  /** Sends what is ready and closes. */
  close: () => void;
};
