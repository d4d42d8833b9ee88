// Where running jobs write what their readers hear: the data line, or where no WebSocket can be had a request a job.

import type { StreamError } from "../../contract/data-line.ts";
import type { SessionSettings } from "../session.ts";
import { DataLine } from "./data-line.ts";
import { HttpStreams } from "./http-streams.ts";

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

export function openStreams(settings: SessionSettings, log: (line: string) => void): Streams {
  let streams: Streams;
  const fallBack = () => {
    log("streams go over HTTP: no WebSocket for the data line");
    streams = new HttpStreams(settings);
    return streams;
  };
  streams = new DataLine(settings, { log, fallBack });
  return {
    prepare: () => streams.prepare(),
    open: (jobId, lease, whenGone) => streams.open(jobId, lease, whenGone),
    end: (jobId, lease, error) => streams.end(jobId, lease, error),
    drop: (jobId, lease) => streams.drop(jobId, lease),
    close: () => streams.close(),
  };
}
