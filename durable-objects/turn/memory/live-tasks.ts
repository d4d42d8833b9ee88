// The live model tasks of each worker, to give them to it again, with their latest progress: a task's row may have an
// older one.

import { isTaskLive, isTaskOver, type ModelTask } from "../../../domain/fleet/model-task.ts";

export class LiveTasks {
  readonly #byId = new Map<string, ModelTask>();
  readonly #idsOf = new Map<string, Set<string>>();
  /** Given in the answer of a claim: the next claim may wait. */
  readonly #handed = new Set<string>();
  #openCount = 0;

  constructor(tasks: readonly ModelTask[]) {
    for (const task of tasks) this.put(task);
  }

  /** Not over, of all workers. */
  get openCount(): number {
    return this.#openCount;
  }

  get size(): number {
    return this.#byId.size;
  }

  find(id: string): ModelTask | undefined {
    return this.#byId.get(id);
  }

  all(): ModelTask[] {
    return [...this.#byId.values()];
  }

  /** A worker's, oldest first. */
  of(worker: string): ModelTask[] {
    return [...(this.#idsOf.get(worker) ?? [])].flatMap((id) => this.#byId.get(id) ?? []);
  }

  put(task: ModelTask): void {
    const before = this.#byId.get(task.id);
    if (before?.status !== task.status) this.#handed.delete(task.id);
    if (isTaskLive(task)) this.#keep(task, before);
    else this.remove(task);
  }

  #keep(task: ModelTask, before: ModelTask | undefined): void {
    this.#openCount += Number(!isTaskOver(task)) - Number(before !== undefined && !isTaskOver(before));
    this.#byId.set(task.id, task);
    const ids = this.#idsOf.get(task.worker) ?? new Set();
    this.#idsOf.set(task.worker, ids.add(task.id));
  }

  remove({ id, worker }: Pick<ModelTask, "id" | "worker">): void {
    const before = this.#byId.get(id);
    if (before === undefined) return;
    this.#openCount -= Number(!isTaskOver(before));
    this.#byId.delete(id);
    this.#handed.delete(id);
    const ids = this.#idsOf.get(worker);
    ids?.delete(id);
    if (ids?.size === 0) this.#idsOf.delete(worker);
  }

  /** Notes that a claim was answered with them; true if one of them was not given so before. */
  hand(tasks: readonly ModelTask[]): boolean {
    const fresh = tasks.filter(({ id }) => !this.#handed.has(id));
    for (const { id } of fresh) this.#handed.add(id);
    return fresh.length > 0;
  }
}
