// Where running jobs write what their readers hear.

import type { StreamError } from "../../contract/data-line.ts";

export type StreamWriter = {
  /** A promise asks the writer to wait: the line takes no more for now. */
  write: (events: readonly string[]) => Promise<void> | undefined;
};

/** Told when nobody reads a stream any more. */
export type WhenGone = () => void;

export type Streams = {
  /** A streamed job has come: its first words shall not wait for a handshake. */
  prepare: () => void;
  open: (jobId: string, lease: number, whenGone: WhenGone) => StreamWriter;
  end: (jobId: string, lease: number, error: StreamError | null) => void;
  /** The stream is no longer this worker's to write: nothing more is said in it. */
  drop: (jobId: string, lease: number) => void;
  /** Sends what is ready and hangs up. */
  close: () => void;
};
