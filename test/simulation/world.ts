// All actors of one run: the object, its clients and workers, and what they know.

import type { KeyLimits } from "../../domain/access/key-limits.ts";
import type { Archived } from "../../domain/job/archived-job.ts";
import type { Job } from "../../domain/job/job.ts";
import { readArchived } from "../../domain/job/job-record.ts";
import { isFinal } from "../../domain/words/job-status.ts";
import type { OperationName, RequestOf } from "../../durable-objects/api.ts";
import { DRAIN_ROOM } from "../../durable-objects/history/drain.ts";
import { STATEMENT_ROOM } from "../../durable-objects/history/statements.ts";
import { DELIVERIES_KEPT } from "../../durable-objects/steps/deliveries.ts";
import type { Credential } from "../../durable-objects/steps/holders.ts";
import { JOURNAL_ROOM } from "../../durable-objects/store/journal.ts";
import { ROW_ROOM } from "../../durable-objects/turn/outbox-writer.ts";
import { WHOLE_JOBS } from "../../src/history/jobs.ts";
import type { Viewer } from "./actors/viewers.ts";
import { noteAnswer } from "./invariants/audit.ts";
import { Model } from "./model.ts";
import type { Step } from "./plan.ts";
import type { Call } from "./platform/runner-objects.ts";
import { type Heard, Shell, TENANT } from "./platform/shell.ts";
import type { SimulatedSocket } from "./platform/sockets.ts";

export interface Held {
  readonly lease: number;
  isStarted: boolean;
}

/** A report as it was sent, to be sent again. */
export interface SentReport {
  readonly operation: "startJob" | "heartbeatJob" | "completeJob" | "failJob" | "releaseJob";
  readonly request: Record<string, unknown> & { id: string; lease: number };
}

/** A worker process: what it offers, and what it believes to hold. */
export interface WorkerActor {
  readonly instance: string;
  credential: Credential;
  provider: string;
  tags: string;
  models: string[] | null;
  /** What its runtime lists. */
  runtimeModels: string[] | null;
  concurrency: number;
  socket: SimulatedSocket | null;
  readonly held: Map<string, Held>;
  readonly sent: SentReport[];
}

export type Action = (world: World, chances: Step["chances"]) => Promise<void> | void;

export const keyOf = (id: string): Credential => ({ kind: "key", id, hash: `hash of ${id}` });

/** As JSON a megabyte, the longest input or result; in a list of rows twice that, more than the platform binds. */
export const LONG_TEXT = '"'.repeat(520_000);

const ADMIN = keyOf("admin");
/** The key with limits. */
export const LIMITED = keyOf("limited");
export const LIMITS = {
  requestsPerMinute: 2,
  tokensPerMinute: null,
  concurrent: 3,
  dayNanoUsd: 200_000,
  monthNanoUsd: null,
  maxWaiting: null,
  perUser: null,
  models: null,
  edge: null,
} satisfies KeyLimits;

export const isOpen = ({ status }: Job): boolean => !isFinal(status);

const WORKER_COUNT = 4;
/**
 * The journal's capacity, by seed: it rarely has to make room, often, or with every job; it keeps most texts, or only
 * very short ones; open jobs stay long after history has them, for a while, or not.
 */
const ROOMS = [
  { jobs: 8_000, textChars: 4_096, readChars: 48_000_000, stayMs: 60_000, stayChars: 24_000_000 },
  { jobs: 8_000, textChars: 12, readChars: 12_000, stayMs: 5_000, stayChars: 24_000_000 },
  { jobs: 4, textChars: 12, readChars: 48_000_000, stayMs: 60_000, stayChars: 24_000_000 },
  { jobs: 8_000, textChars: 4_096, readChars: 24_000, stayMs: 60_000, stayChars: 12_000 },
  { jobs: 1, textChars: 4_096, readChars: 48_000_000, stayMs: 0, stayChars: 0 },
];

/** The same for what one outbox row, one drain and one statement may contain. */
const SMALL = {
  row: { chars: 400, recordChars: 4_000 },
  drain: { rows: 3, chars: 2_000 },
  statement: { chars: 2_000 },
};
const USUAL = { row: { ...ROW_ROOM }, drain: { ...DRAIN_ROOM }, statement: { ...STATEMENT_ROOM } };

/** Finished deliveries are kept for about half as many writes. */
const FEW_WRITES = 10;
const USUAL_WRITES = DELIVERIES_KEPT.writes;

const setRooms = (seed: number): void => {
  DELIVERIES_KEPT.writes = seed % 3 === 0 ? FEW_WRITES : USUAL_WRITES;
  Object.assign(JOURNAL_ROOM, ROOMS[seed % ROOMS.length]);
  const { row, drain, statement } = (seed >> 2) % 4 === 3 ? SMALL : USUAL;
  Object.assign(ROW_ROOM, row);
  Object.assign(DRAIN_ROOM, drain);
  Object.assign(STATEMENT_ROOM, statement);
};

export class World {
  readonly shell: Shell;
  readonly model = new Model();
  readonly admin = ADMIN;
  readonly workers: WorkerActor[];
  /** Commands that have read history and not yet called the object. */
  readonly stalled: (() => Promise<unknown>)[] = [];
  readonly endedKeys = new Set<string>();
  readonly viewers: Viewer[] = [];
  /** Several steps went into the commit that is checked. */
  isShared = false;
  /** Workers with an open socket when the step began. */
  connectedBefore: ReadonlySet<string> = new Set();
  #names = 0;

  constructor(seed: number) {
    setRooms(seed);
    this.shell = new Shell(seed);
    this.shell.runners.given = (call) => this.#noteGiven(call);
    this.shell.answered = (name, request) => noteAnswer(this.model, name, request);
    this.workers = Array.from({ length: WORKER_COUNT }, (_, index) => ({
      instance: `worker-${index}`,
      credential: keyOf(`worker-key-${index}`),
      provider: index % 2 === 0 ? "p" : "q",
      tags: index < 2 ? "a" : "a, b",
      models: index === 3 ? ["m"] : null,
      runtimeModels: null,
      concurrency: 1 + (index % 3),
      socket: null,
      held: new Map(),
      sent: [],
    }));
  }

  /** One of the coordinator's own workers has a lease: no other may have it. */
  #noteGiven({ instance, id, lease }: Call): void {
    const key = `${id}/${lease}`;
    const holder = this.model.holders.get(key);
    if (holder !== undefined && holder !== instance)
      this.model.violate(`lease ${key} was given to ${holder} and to ${instance}`);
    this.model.holders.set(key, instance);
  }

  /** A name that was never used in this run. */
  fresh(prefix: string): string {
    this.#names += 1;
    return `${prefix}-${this.#names}`;
  }

  async begin(): Promise<void> {
    const tenant = await this.shell.tenant();
    const admin = { id: ADMIN.id, hash: ADMIN.hash, name: "admin", role: "admin" as const };
    void tenant.create({ tenant: TENANT, locationHint: null, jurisdiction: null, adminKey: admin, database: 0 });
    void this.shell.call(ADMIN, "createKey", { ...LIMITED, name: LIMITED.id, role: "standard", limits: LIMITS });
    for (const worker of this.workers) void this.makeKey(worker.credential);
    await this.shell.settle();
  }

  makeKey({ id, hash }: Credential): Promise<Heard<unknown>> {
    return this.shell.call(ADMIN, "createKey", { id, hash, name: id, role: "worker" });
  }

  /**
   * A command on a job as the edge runs it: for a job that has left the object, the record from history is sent along.
   */
  async command<Name extends OperationName>(
    credential: Credential,
    name: Name,
    request: RequestOf<Name> & { id: string },
  ) {
    const answer = await this.shell.call(credential, name, request);
    if (answer === null || answer.ok || answer.error.code !== "not_found") return answer;
    if (this.shell.history.weather === "down") return null;
    const archived = this.archived(request.id);
    if (archived === null) return answer;
    const { absentAt = 0 } = answer.error;
    const brought = { ...archived, absentAt };
    return this.shell.call(credential, name, { ...request, archived: brought } as RequestOf<Name>);
  }

  /** Workers with an open socket. */
  connected(): ReadonlySet<string> {
    return new Set(this.workers.filter(({ socket }) => socket?.isOpen).map(({ instance }) => instance));
  }

  archived(id: string): Archived | null {
    const [row] = this.shell.history.rows(`${WHOLE_JOBS} WHERE jobs.tenant = ? AND jobs.id = ?`, TENANT, id);
    if (row === undefined) return null;
    const json = (column: string) => JSON.parse(row[column] as string);
    return {
      job: readArchived(row as never),
      prompt: row.prompt as string,
      input: json("input"),
      result: json("result"),
    };
  }
}
