// A loop on a session in memory, for tests with fake timers: jobs run until a test finishes them.

import { vi } from "vitest";
import type { LeasedJob } from "../../contract/fleet/worker.ts";
import type { JobFailure, Outcome, RunOptions, Runtime, RuntimeState, Task } from "../../worker/calls/runtime.ts";
import type { ConfigWatch, WorkerConfig } from "../../worker/config.ts";
import { Loop } from "../../worker/loop.ts";
import { ALWAYS_OPEN, type Gate } from "../../worker/openings/gate.ts";
import { RuntimeWatch } from "../../worker/runtime-watch.ts";
import type { CoordinatorMessage, Ending, Session, WorkerMessage } from "../../worker/session/session.ts";
import type { Streams, WhenGone } from "../../worker/streams/streams.ts";
import { assignedJob } from "./job-fixture.ts";
import { hasNoFiles, keepsNothing } from "./runtimes/quiet-run.ts";

type Run = {
  task: Task;
  options: RunOptions;
  finish: (text: string, spent?: object) => Promise<void>;
  fail: (error: JobFailure, neverReached?: boolean, spent?: object) => Promise<void>;
};

/** A session that records what it is given; the test plays the coordinator. */
export class FakeSession implements Session {
  readonly kind: Session["kind"];
  readonly sent: WorkerMessage[] = [];
  readonly ended = new Promise<Ending>(() => {});
  pings = 0;
  constructor(kind: Session["kind"] = "socket") {
    this.kind = kind;
  }
  send(message: WorkerMessage): void {
    this.sent.push(structuredClone(message));
  }
  ping(): void {
    this.pings += 1;
  }
  slotsChanged(): void {}
  close(): void {}

  of<T extends WorkerMessage["type"]>(type: T): Extract<WorkerMessage, { type: T }>[] {
    return this.sent.filter((one): one is Extract<WorkerMessage, { type: T }> => one.type === type);
  }
}

/** Streams that record what is written. */
class FakeStreams implements Streams {
  readonly said: string[] = [];
  readonly dropped: string[] = [];
  readonly whenGone = new Map<string, WhenGone>();
  prepare(): void {}
  open(jobId: string, _lease: number, whenGone: WhenGone) {
    this.whenGone.set(jobId, whenGone);
    return {
      write: (events: readonly string[]) => {
        this.said.push(...events);
        return undefined;
      },
    };
  }
  end(jobId: string, lease: number, error: unknown): undefined {
    this.said.push(`${jobId} ${lease} end ${JSON.stringify(error)}`);
  }
  drop(jobId: string, lease: number): void {
    this.dropped.push(`${jobId} ${lease}`);
  }
  close(): void {}
}

/** Of a runtime that reports nothing about itself. */
export const quietProbe = async (): Promise<RuntimeState> => ({ unavailable: null, apis: [], models: null });

const noConfig: WorkerConfig = { model: null, timeoutSeconds: null };
/** A config that says nothing and never changes. */
export const idleConfig: ConfigWatch = { current: () => noConfig, refresh: async () => {}, forJob: () => noConfig };

/** What a loop needs besides its runtime, for tests about something else. */
export function partsFor(runtime: Runtime, gate: Gate = ALWAYS_OPEN) {
  const watch = new RuntimeWatch({ runtime, gate, log: () => {}, random: () => 0 });
  const loadInput = async () => ({ ok: true as const, input: null });
  return {
    runtime,
    watch,
    transfers: { loadInput, storeResult: keepsNothing, openFile: hasNoFiles },
    streams: new FakeStreams(),
  };
}

type Doors = { gate?: Gate; drainsNow?: boolean };

/** @param obeysAbort whether a run ends when it is told to. */
export function createWorker(
  concurrency = 1,
  kind: Session["kind"] = "socket",
  obeysAbort = true,
  { gate, drainsNow = false }: Doors = {},
) {
  const runs: Run[] = [];
  const refusals: string[] = [];
  const config = { model: null as string | null, timeoutSeconds: null as number | null };
  const run = (task: Task, options: RunOptions) =>
    new Promise<Outcome>((resolve, reject) => {
      options.signal.addEventListener("abort", () => obeysAbort && reject(options.signal.reason));
      const finish = async (text: string, spent = {}) => {
        resolve({ ok: true, result: { text }, ...spent });
        await vi.advanceTimersByTimeAsync(0);
      };
      const fail = async (error: JobFailure, neverReached = false, spent = {}) => {
        resolve({ ok: false, error, neverReached, ...spent });
        await vi.advanceTimersByTimeAsync(0);
      };
      runs.push({ task, options, finish, fail });
    });
  const forJob = vi.fn((_mayWait: boolean, _newest?: string): typeof config | Promise<typeof config> => config);
  const state: RuntimeState = { unavailable: null, apis: [], models: null };
  const probe = vi.fn(async () => state);
  const parts = partsFor({ name: "echo", address: null, probeEveryMs: 0, probe, run }, gate);
  const loop = new Loop({
    identity: { instance: "w1", provider: "echo", tags: "gpu", models: [], tier: null, concurrency, version: "1" },
    ...parts,
    drainsNow,
    config: { current: () => config, refresh: async () => {}, forJob },
    log: () => {},
    onRefused: (reason) => refusals.push(reason),
    random: () => 0,
  });
  const session = new FakeSession(kind);
  loop.attach(session);
  const assign = (id: string, lease = 1, fields: Partial<LeasedJob> = {}, config_etag?: string) =>
    loop.receive({ type: "job.assigned", job: assignedJob({ id, lease, prompt: id, ...fields }), config_etag });
  return { loop, session, runs, refusals, config, forJob, assign, probe, state, ...parts };
}

export function ack(
  loop: Loop,
  message: WorkerMessage | undefined,
  fields: Partial<Extract<CoordinatorMessage, { type: "ack" }>> = {},
) {
  if (message === undefined) throw new Error("there is nothing to acknowledge");
  loop.receive({ type: "ack", id: message.id, ok: true, ...fields });
}

export const settle = () => vi.advanceTimersByTimeAsync(0);
