// What a turn sends after it is stored: frames, answers to those who wait, lines of the log. Nothing is sent for a turn
// that is rolled back.

import type { CoordinatorMessage } from "../../contract/socket.ts";
import type { FileView } from "../../domain/file/file.ts";
import type { Worker } from "../../domain/fleet/worker.ts";
import type { JobError } from "../../domain/job/job.ts";
import type { LogLine } from "../../log/log.ts";
import type { Outgoing } from "./announcement.ts";
import { LazySet } from "./lazy-set.ts";

export type LiveTopic = "killswitch" | "schedule" | "catalog" | "cost" | "storage";

/** What is sent after a turn is stored. */
export interface Effects {
  readonly frames: { readonly instance: string; readonly message: CoordinatorMessage }[];
  /** Workers whose waiting claims must look again. */
  readonly wokenWorkers: LazySet<string>;
  /** To every worker with a socket. */
  readonly broadcast: { readonly message: CoordinatorMessage; readonly except?: ReadonlySet<string> }[];
  /** Streams whose attempt has ended, whatever their worker still sends. */
  readonly cuts: StreamCut[];
  /** Attempts that ended without a report; their relay knows how much they said. */
  readonly unmeasured: { readonly instance: string; readonly jobId: string; readonly lease: number }[];
  /** The coordinator's own workers whose providers' keys may be there: they are asked. */
  readonly askedEdges: LazySet<string>;
  /** Final jobs whose bodies were stored outside. */
  readonly droppedBodies: string[];
  /** Files that are gone from the tenant: their objects delete the bytes. */
  readonly droppedFiles: string[];
  /** Files of batches that are gone. */
  readonly droppedViews: FileView[];
  /** Batches that may go on: with their lines' answers, with more lines, to their end. */
  readonly batches: LazySet<string>;
  readonly changedJobs: LazySet<string>;
  readonly finishedJobs: LazySet<string>;
  readonly changedWorkers: LazySet<string>;
  readonly changedModelTasks: LazySet<string>;
  readonly changedTopics: LazySet<LiveTopic>;
  /** Keys whose sockets must close, except those opened with one of these digests. */
  readonly endedKeys: Map<string, readonly string[]>;
  readonly endedSessions: LazySet<string>;
  /** Workers that were forgotten. */
  readonly forgottenWorkers: LazySet<string>;
  /** Workers that another key has from now on, or none: what others opened for them ends. */
  readonly handedOver: HandedOver[];
  /** Tries of webhook deliveries. */
  readonly deliveries: Outgoing[];
  readonly log: LogLine[];
}

export type HandedOver = Pick<Worker, "instance" | "keyId" | "hasHadLine">;

/** `error`: how the reader's stream ends; null if the job continues with another attempt. */
interface StreamCut {
  readonly instance: string;
  readonly jobId: string;
  readonly lease: number;
  readonly error: Pick<JobError, "code" | "message" | "status"> | null;
}

export const noEffects = (): Effects => ({
  frames: [],
  wokenWorkers: new LazySet(),
  broadcast: [],
  cuts: [],
  unmeasured: [],
  askedEdges: new LazySet(),
  droppedBodies: [],
  droppedFiles: [],
  droppedViews: [],
  batches: new LazySet(),
  changedJobs: new LazySet(),
  finishedJobs: new LazySet(),
  changedWorkers: new LazySet(),
  changedModelTasks: new LazySet(),
  changedTopics: new LazySet(),
  endedKeys: new Map(),
  endedSessions: new LazySet(),
  forgottenWorkers: new LazySet(),
  handedOver: [],
  deliveries: [],
  log: [],
});
