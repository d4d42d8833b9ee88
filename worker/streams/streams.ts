// Where running jobs write what their readers get: the data line, or one request per job if there is no WebSocket.

import type { StreamError } from "../../contract/data-line.ts";
import type { SessionSettings } from "../session.ts";
import { DataLine } from "./data-line.ts";
import { HttpStreams } from "./http-streams.ts";

export type StreamWriter = {
  /** A returned promise asks the writer to wait: the line is full. */
  write: (events: readonly string[]) => Promise<void> | undefined;
};

/** Called when a stream has no reader any more. */
export type WhenGone = () => void;

export type Streams = {
  /** A streamed job has arrived: open the line now, so that its first output does not wait for a handshake. */
  prepare: () => void;
  open: (jobId: string, lease: number, whenGone: WhenGone) => StreamWriter;
  end: (jobId: string, lease: number, error: StreamError | null) => void;
  /** The stream is no longer this worker's: nothing more is written to it. */
  drop: (jobId: string, lease: number) => void;
  /** Sends what is ready and closes. */
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
