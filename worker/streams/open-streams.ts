// The data line, or one request per job if there is no WebSocket.

import type { SessionSettings } from "../session/session.ts";
import { DataLine } from "./data-line.ts";
import { HttpStreams } from "./http-streams.ts";

export const openStreams = (settings: SessionSettings, log: (line: string) => void): DataLine =>
  new DataLine(settings, () => {
    log("streams go over HTTP: no WebSocket for the data line");
    return new HttpStreams(settings);
  });
