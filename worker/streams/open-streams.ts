// The data line, or one request per job if there is no WebSocket.

import type { SessionSettings } from "../session.ts";
import { DataLine } from "./data-line.ts";
import { HttpStreams } from "./http-streams.ts";
import type { Streams } from "./streams.ts";

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
