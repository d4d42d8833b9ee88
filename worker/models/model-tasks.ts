// Runs the model tasks of this machine, those of one kind or one model after each other, and reports on them: how far
// at most once a second, and the end until it is acknowledged. A task that the coordinator gives again goes on.

import type { ModelTaskResource } from "../../contract/fleet/model-task.ts";
import { isBrokenOff, reasonOf } from "../../contract/text/error-causes.ts";
import { lineOf } from "../../contract/text/start-of.ts";
import { brokenOff, unreachable } from "../calls/failure.ts";
import type { WorkerMessage } from "../session/session.ts";
import { type ModelManager, type ModelProgress, TaskFailure } from "./model-manager.ts";

const PROGRESS_EVERY_MS = 1_000;
/** A task that says nothing for long would be given again. */
const REPEAT_EVERY_MS = 10_000;
const MAX_MESSAGE_CHARS = 2_000;
const BYTES_A_GB = 1_000_000_000;

type Done = Extract<WorkerMessage, { type: "model.done" }>;

type ModelTasksOptions = {
  /** Null: this machine's owner allows none. */
  manager: ModelManager | null;
  maxModelGb: number | null;
  log: (line: string) => void;
  /** Something changed on disk or in memory. */
  onDone: () => void;
};

type Sender = { send: (message: WorkerMessage) => void; nextId: () => string };

type Held = {
  task: ModelTaskResource;
  abort: AbortController;
  progress: ModelProgress;
  toldAtMs: number;
  finished: Promise<void>;
};

/** What works on the disk does not keep what works on the memory waiting. */
const KIND = { pull: "disk", delete: "disk", load: "memory", unload: "memory" } as const;

const isInOrder = (one: ModelTaskResource, next: ModelTaskResource): boolean =>
  one.model === next.model || KIND[one.action] === KIND[next.action];

export class ModelTasks {
  readonly #options: ModelTasksOptions;
  readonly #sender: Sender;
  readonly #held = new Map<string, Held>();
  /** Ends without an acknowledgement, by task. */
  readonly #ends = new Map<string, Done>();
  /** By message, the task that a progress was about. */
  readonly #told = new Map<string, string>();

  constructor(options: ModelTasksOptions, sender: Sender) {
    this.#options = options;
    this.#sender = sender;
  }

  receive(task: ModelTaskResource): void {
    const end = this.#ends.get(task.id);
    const known = this.#held.get(task.id);
    const { manager } = this.#options;
    if (end !== undefined) this.#sender.send(end);
    else if (task.status === "cancelled") this.cancel(task.id);
    else if (known !== undefined) this.#tell(known);
    else if (manager !== null) this.#begin(task, manager);
    else this.#end(task.id, new TaskFailure("models_not_managed", "this worker runs without --manage-models"));
  }

  #begin(task: ModelTaskResource, manager: ModelManager): void {
    const before = [...this.#held.values()].filter((one) => isInOrder(one.task, task));
    const stage = before.length === 0 ? "starting" : `waits for ${before.length} before it`;
    const held: Held = {
      task,
      abort: new AbortController(),
      progress: { stage },
      toldAtMs: Number.NEGATIVE_INFINITY,
      finished: Promise.resolve(),
    };
    this.#held.set(task.id, held);
    this.#tell(held);
    held.finished = Promise.all(before.map(({ finished }) => finished)).then(() => this.#run(held, manager));
  }

  /** Its report is refused, which shows that both know how the task stands. */
  cancel(id: string): void {
    this.#drop(id);
    this.#end(id, new TaskFailure("cancelled", "the task was cancelled"));
  }

  /** Sends again what is not acknowledged. */
  repeat(): void {
    for (const end of this.#ends.values()) this.#sender.send(end);
    const dueMs = performance.now() - REPEAT_EVERY_MS;
    for (const held of this.#held.values()) if (held.toldAtMs <= dueMs) this.#tell(held);
  }

  /** An `ack`. Status 0: it went well; of others, 429 and 5xx are waited for. Returns whether it was about a task. */
  acknowledged(id: string, status: number): boolean {
    const task = this.#told.get(id);
    this.#told.delete(id);
    const [ended] = [...this.#ends].find(([, end]) => end.id === id) ?? [];
    if (status === 429 || status >= 500) return task !== undefined || ended !== undefined;
    if (ended !== undefined) this.#ends.delete(ended);
    if (task !== undefined && status !== 0) this.#drop(task);
    return task !== undefined || ended !== undefined;
  }

  /** What runs ends without a report: it is given again when the worker is back. */
  close(): void {
    for (const id of [...this.#held.keys()]) this.#drop(id);
  }

  #drop(id: string): void {
    this.#held.get(id)?.abort.abort();
    this.#held.delete(id);
  }

  async #run(held: Held, manager: ModelManager): Promise<void> {
    const { task, abort } = held;
    if (abort.signal.aborted) return;
    const { log, onDone } = this.#options;
    log(`${task.action} ${task.model}: begins`);
    const failure = await manager
      .work(task, {
        signal: abort.signal,
        onProgress: (progress) => this.#note(held, progress),
        checkSize: (bytes) => this.#checkSize(bytes),
      })
      .then(
        () => null,
        (error: unknown) => failureOf(error),
      );
    if (this.#held.get(task.id) !== held) {
      log(`${task.action} ${task.model}: stopped`);
      return;
    }
    this.#held.delete(task.id);
    log(`${task.action} ${task.model}: ${failure === null ? "done" : `failed: ${failure.message}`}`);
    this.#end(task.id, failure);
    onDone();
  }

  #checkSize(bytes: number): void {
    const { maxModelGb } = this.#options;
    if (maxModelGb === null || bytes <= maxModelGb * BYTES_A_GB) return;
    const gb = (bytes / BYTES_A_GB).toFixed(1);
    throw new TaskFailure("model_too_large", `it has at least ${gb} GB, and --max-model-gb is ${maxModelGb}`);
  }

  #note(held: Held, progress: ModelProgress): void {
    held.progress = progress;
    if (this.#held.get(held.task.id) === held && performance.now() - held.toldAtMs >= PROGRESS_EVERY_MS)
      this.#tell(held);
  }

  #tell(held: Held): void {
    const { id: task_id } = held.task;
    held.toldAtMs = performance.now();
    const id = this.#sender.nextId();
    for (const [known, task] of this.#told) if (task === task_id) this.#told.delete(known);
    this.#told.set(id, task_id);
    this.#sender.send({ type: "model.progress", id, task_id, ...held.progress });
  }

  #end(task_id: string, failure: TaskFailure | null): void {
    const error = failure === null ? {} : { error: { code: failure.code, message: failure.message } };
    const end: Done = { type: "model.done", id: this.#sender.nextId(), task_id, ...error };
    this.#ends.set(task_id, end);
    this.#sender.send(end);
  }
}

const failureOf = (error: unknown): TaskFailure => {
  if (error instanceof TaskFailure) return error;
  const { code, message } = (isBrokenOff(error) ? brokenOff : unreachable)(reasonOf(error));
  return new TaskFailure(code, lineOf(message, MAX_MESSAGE_CHARS));
};
