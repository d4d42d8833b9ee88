// The steps of job owners: create and dispatch, with and without idempotency keys, repeatedly; cancel, retry.

import type { Answer } from "../../support/workerd/client.ts";
import * as jobs from "./job-state.ts";
import { isLeased, type JobState, type Span } from "./job-state.ts";
import { Contradiction, type Creation, type Model } from "./model.ts";
import { pick, Step } from "./step.ts";
import type { System } from "./system.ts";
import { isSurelyOffline, mayBeOffline } from "./worker-state.ts";

const KILLSWITCH_FROM = { create: 3, dispatch: 1, other: 4 } as const;
const DELAY_MS = 40_000;

export interface Shape {
  readonly provider: string | null;
  readonly tags: readonly string[];
  readonly isLater: boolean;
  readonly maxAttempts: number | null;
}

const bodyOf = ({ provider, tags, isLater, maxAttempts }: Shape, prompt: string): Creation["body"] => ({
  prompt,
  tags,
  ...(provider === null ? {} : { provider }),
  ...(maxAttempts === null ? {} : { max_attempts: maxAttempts }),
  ...(isLater ? { run_at: new Date(Date.now() + DELAY_MS).toISOString() } : {}),
});

const stateOf = (id: string, { body }: Creation): JobState => {
  const runAt = body.run_at === undefined ? 0 : Date.parse(body.run_at as string);
  return {
    id,
    prompt: body.prompt,
    provider: (body.provider ?? null) as string | null,
    tags: body.tags as string[],
    maxAttempts: (body.max_attempts ?? null) as number | null,
    status: "pending",
    lease: 0,
    attempts: 0,
    worker: null,
    workerProvider: null,
    settledBy: null,
    error: null,
    result: null,
    releases: 0,
    rateLimitRetries: 0,
    readyFrom: runAt,
    readyUntil: runAt,
    isQueued: runAt <= Date.now(),
    isPutBack: false,
    assignedAt: 0,
    keptUntil: 0,
    startedAt: 0,
    beatFrom: 0,
    beatUntil: 0,
  };
};

const expectStatus = (what: string, answer: Answer, allowed: readonly number[]): void => {
  if (!allowed.includes(answer.status))
    throw new Contradiction(`${what} got ${answer.status} ${answer.text}, not ${allowed.join(" or ")}`);
};

/** Sends a creation, first or again, and compares the answer with the earlier one. */
const send = async (model: Model, system: System, creation: Creation): Promise<void> => {
  const { operation, mayQueue, body, key, jobId } = creation;
  const path = operation === "create" ? "/api/jobs" : `/dispatch${mayQueue ? "?queue=true" : ""}`;
  const expected = jobId !== null && key !== null ? null : statusesOf(model, creation);
  const { answer } = await system.timed(() => system.post(path, body, key));
  const isReplayed = answer.headers.get("idempotency-replayed") === "true";
  if (expected === null) {
    expectStatus(`${operation} again under ${key}`, answer, [200, 201, 202]);
    if (answer.body.id !== jobId || !isReplayed)
      throw new Contradiction(`key ${key} made ${jobId}, then ${answer.body.id}`);
    return;
  }
  expectStatus(operation, answer, expected);
  if (answer.status >= 300) return;
  if (isReplayed || model.jobs.has(answer.body.id))
    throw new Contradiction(`${operation} was answered with an old job`);
  creation.jobId = answer.body.id;
  const made = stateOf(answer.body.id, creation);
  model.add(made);
  model.expand();
  if (operation === "dispatch") {
    const taken = model.jobs.get(made.id)?.filter((job) => isLeased(job) === (answer.status === 200)) ?? [];
    model.jobs.set(made.id, taken);
    model.observe(answer.body);
  } else if (answer.body.status !== "pending" || answer.body.assigned_worker !== null) {
    throw new Contradiction(`a job is answered as ${answer.body.status} when it is created`);
  }
};

/** The possible answers to a new creation. */
const statusesOf = (model: Model, { operation, mayQueue, body }: Creation): number[] => {
  if (model.level >= KILLSWITCH_FROM[operation]) return [503];
  if (operation === "create") return [201];
  const nobody = mayQueue ? 202 : 503;
  if (body.run_at !== undefined) return [nobody];
  const nowAt = Date.now();
  const asked = { provider: (body.provider ?? null) as string | null, tags: body.tags as string[] };
  const workers = [...model.workers.values()];
  // A lease that may have ended, and the place that this frees, leave it open.
  const isOpen = [...model.jobs.values()].some((states) => states.length > 1);
  const may = workers.some((one) => model.mayTake(one, asked, nowAt) && (isOpen || model.hasRoom(one)));
  const must = workers.some((one) => !isOpen && model.mustTake(one, asked, nowAt) && model.hasRoom(one));
  return [...(may ? [200] : []), ...(must ? [] : [nobody])];
};

let prompts = 0;

export class Create extends Step {
  readonly #operation: Creation["operation"];
  readonly #shape: Shape;
  readonly #mayQueue: boolean;
  readonly #isKeyed: boolean;

  constructor(operation: Creation["operation"], shape: Shape, mayQueue: boolean, isKeyed: boolean) {
    super();
    this.#operation = operation;
    this.#shape = shape;
    this.#mayQueue = mayQueue;
    this.#isKeyed = isKeyed;
  }

  async take(model: Model, system: System): Promise<void> {
    prompts += 1;
    const creation: Creation = {
      operation: this.#operation,
      mayQueue: this.#mayQueue,
      body: bodyOf(this.#shape, `prompt ${prompts}`),
      key: this.#isKeyed ? `key-${prompts}` : null,
      jobId: null,
    };
    model.creations.push(creation);
    await send(model, system, creation);
  }

  words() {
    const { provider, tags, isLater, maxAttempts } = this.#shape;
    const queue = this.#operation === "dispatch" && this.#mayQueue && "or queue";
    return [
      this.#operation,
      queue,
      provider !== null && `for ${provider}`,
      tags.length > 0 && `with ${tags.join("+")}`,
      isLater && "later",
      maxAttempts !== null && `at most ${maxAttempts} times`,
      this.#isKeyed && "keyed",
    ];
  }
}

export class Repeat extends Step {
  readonly #which: number;
  readonly #isChanged: boolean;

  constructor(which: number, isChanged: boolean) {
    super();
    this.#which = which;
    this.#isChanged = isChanged;
  }

  override check(model: Readonly<Model>): boolean {
    return model.creations.some(({ key }) => key !== null);
  }

  async take(model: Model, system: System): Promise<void> {
    const creation = pick(
      model.creations.filter(({ key }) => key !== null),
      this.#which,
    );
    if (creation === undefined) return;
    if (!this.#isChanged || creation.jobId === null) return send(model, system, creation);
    const path = creation.operation === "create" ? "/api/jobs" : "/dispatch";
    const answer = await system.post(path, { ...creation.body, prompt: "another" }, creation.key);
    expectStatus(`another body under ${creation.key}`, answer, [422]);
  }

  words() {
    return ["repeat creation", this.#which, this.#isChanged && "with another body"];
  }
}

type Command = "cancel" | "retry" | "patch";

/** A command of an owner on an existing job. */
export class Tell extends Step {
  readonly #command: Command;
  readonly #which: number;

  constructor(command: Command, which: number) {
    super();
    this.#command = command;
    this.#which = which;
  }

  override check(model: Readonly<Model>): boolean {
    return model.jobs.size > 0;
  }

  async take(model: Model, system: System): Promise<void> {
    const id = pick([...model.jobs.keys()].reverse(), this.#which);
    if (id === undefined) return;
    const before = model.known(id);
    const isSure = model.jobs.get(id)?.length === 1;
    const { answer, span } = await system.timed(() =>
      this.#command === "patch"
        ? system.world.patch(`/api/jobs/${id}`, { tags: PATCHED })
        : system.post(`/api/jobs/${id}/${this.#command}`),
    );
    if (model.level >= KILLSWITCH_FROM.other) return expectStatus(this.#command, answer, [503]);
    model.answered(id, this.#command, answer.status, (job) => this.#outcomes(model, job, span));
    if (isSure && isLeased(before) && answer.status === 200 && this.#command !== "patch")
      await system.isToldToDrop(before.worker ?? "", id, before.lease);
  }

  #outcomes(model: Model, job: JobState, { fromAt, untilAt }: Span): jobs.Outcome[] {
    if (this.#command === "cancel") return jobs.cancel(job);
    if (this.#command === "patch") return jobs.patchTags(job, PATCHED);
    const worker = model.workers.get(job.worker ?? "");
    const mayBeStuck =
      job.status === "running" && job.beatFrom + jobs.STALE_AFTER_MS <= untilAt
        ? true
        : worker !== undefined && mayBeOffline(worker, untilAt);
    const isSurelyStuck =
      job.status === "running" && job.beatUntil + jobs.STALE_AFTER_MS <= fromAt
        ? true
        : worker !== undefined && isSurelyOffline(worker, fromAt);
    return jobs.retry(job, mayBeStuck, isSurelyStuck);
  }

  words() {
    return [this.#command, "job", this.#which, "from the end"];
  }
}

const PATCHED = ["a"];
