// What a turn sends after it is stored: frames, answers to those who wait, lines of the log. Nothing is sent for a turn
// that is rolled back.

import type { CoordinatorMessage } from "../../contract/socket.ts";
import type { FileView } from "../../domain/file/file.ts";
import type { JobError } from "../../domain/job/job.ts";
import type { LogLine } from "../../log/log.ts";
import type { Outgoing } from "./announcement.ts";

export type LiveTopic = "killswitch" | "schedule" | "catalog" | "cost" | "storage";

/** What is sent after a turn is stored. */
export interface Effects {
  readonly frames: { readonly instance: string; readonly message: CoordinatorMessage }[];
  /** Workers whose waiting claims must look again. */
  readonly wokenWorkers: Set<string>;
  /** To every worker with a socket. */
  readonly broadcast: { readonly message: CoordinatorMessage; readonly except?: ReadonlySet<string> }[];
  /** Streams whose attempt has ended, whatever their worker still sends. */
  readonly cuts: StreamCut[];
  /** Attempts that ended without a report; their relay knows how much they said. */
  readonly unmeasured: { readonly instance: string; readonly jobId: string; readonly lease: number }[];
  /** Providers that the coordinator may call: whether their keys are there is asked. */
  readonly askedEdges: Set<string>;
  /** Final jobs whose bodies were stored outside. */
  readonly droppedBodies: string[];
  /** Files that are gone from the tenant: their objects delete the bytes. */
  readonly droppedFiles: string[];
  /** Files of batches that are gone. */
  readonly droppedViews: FileView[];
  /** Batches that may go on: with their lines' answers, with more lines, to their end. */
  readonly batches: Set<string>;
  readonly changedJobs: Set<string>;
  readonly finishedJobs: Set<string>;
  readonly changedWorkers: Set<string>;
  readonly changedModelTasks: Set<string>;
  readonly changedTopics: Set<LiveTopic>;
  /** Keys whose sockets must close, except those opened with one of these digests. */
  readonly endedKeys: Map<string, readonly string[]>;
  readonly endedSessions: Set<string>;
  /** Workers that were forgotten. */
  readonly forgottenWorkers: Set<string>;
  /** Tries of webhook deliveries. */
  readonly deliveries: Outgoing[];
  readonly log: LogLine[];
}

/** `error`: how the reader's stream ends; null if the job continues with another attempt. */
export interface StreamCut {
  readonly instance: string;
  readonly jobId: string;
  readonly lease: number;
  readonly error: Pick<JobError, "code" | "message" | "status"> | null;
}

export const noEffects = (): Effects => ({
  frames: [],
  wokenWorkers: new Set(),
  broadcast: [],
  cuts: [],
  unmeasured: [],
  askedEdges: new Set(),
  droppedBodies: [],
  droppedFiles: [],
  droppedViews: [],
  batches: new Set(),
  changedJobs: new Set(),
  finishedJobs: new Set(),
  changedWorkers: new Set(),
  changedModelTasks: new Set(),
  changedTopics: new Set(),
  endedKeys: new Map(),
  endedSessions: new Set(),
  forgottenWorkers: new Set(),
  deliveries: [],
  log: [],
});
