// Worker processes: over HTTP or a socket they take jobs and report on them, and they crash, stall, lie, repeat and
// reorder.

import type { LeasedJob } from "../../../contract/fleet/worker.ts";
import { type PresenceRequest, toPresence } from "../../../contract/fleet/worker.ts";
import type { JobResource } from "../../../contract/jobs/job.ts";
import type { CoordinatorMessage } from "../../../contract/socket.ts";
import type { JobError } from "../../../domain/job/job.ts";
import type { Step, StepKind } from "../plan.ts";
import { oneOf, pickOf } from "../platform/random.ts";
import type { SimulatedSocket } from "../platform/sockets.ts";
import { type Action, LONG_TEXT, type SentReport, type WorkerActor, type World } from "../world.ts";

type Chances = Step["chances"];
export type WorkerAction = (world: World, worker: WorkerActor, chances: Chances) => Promise<void> | void;

const MAX_REMEMBERED_REPORTS = 20;

export const withWorker =
  (act: WorkerAction): Action =>
  async (world, chances) => {
    const worker = pickOf(world.workers, chances[0]);
    if (worker === undefined) return;
    world.model.triedAt.set(worker.instance, world.shell.clock.elapsedAt);
    // Frames may stay unread for a while.
    if (chances[4] < 0.8) readInbox(world, worker);
    await act(world, worker, chances);
  };

/** The object heard of the worker, or continues to hear of it for a while. */
export const noteSign = ({ model, shell }: World, { instance }: WorkerActor, forMs = 0): void => {
  const { nowAt, elapsedAt } = shell.clock;
  model.signs.set(instance, Math.max(model.signs.get(instance) ?? 0, nowAt + forMs));
  model.heardAt.set(instance, Math.max(model.heardAt.get(instance) ?? 0, elapsedAt + forMs));
};

export const takeLease = (world: World, worker: WorkerActor, job: LeasedJob): void => {
  const key = `${job.id}/${job.lease}`;
  const holder = world.model.holders.get(key);
  if (holder !== undefined && holder !== worker.instance)
    world.model.violate(`lease ${key} was given to ${holder} and to ${worker.instance}`);
  world.model.holders.set(key, worker.instance);
  if (!worker.held.has(job.id)) worker.held.set(job.id, { lease: job.lease, isStarted: false });
};

/** Reads what the coordinator sent: its assignments and halts. */
export const readInbox = (world: World, worker: WorkerActor): void => {
  const frames = worker.socket?.inbox.splice(0) ?? [];
  for (const frame of frames) {
    const parsed = JSON.parse(frame) as CoordinatorMessage | CoordinatorMessage[];
    for (const message of Array.isArray(parsed) ? parsed : [parsed]) take(world, worker, message);
  }
};

const take = (world: World, worker: WorkerActor, message: CoordinatorMessage): void => {
  if (message.type === "job.assigned") takeLease(world, worker, message.job);
  else if (message.type === "job.halted") {
    if ((worker.held.get(message.job_id)?.lease ?? 0) <= message.lease) worker.held.delete(message.job_id);
  } else if ("jobs" in message || "halted" in message) {
    for (const id of message.halted ?? []) worker.held.delete(id);
    for (const job of message.jobs ?? []) takeLease(world, worker, job);
  }
};

export const presenceOf = (worker: WorkerActor, chance: number): PresenceRequest => ({
  ...(chance > 0.93 ? { unavailable: "its runtime does not answer" } : {}),
  apis: ["chat/completions", "responses"],
  instance: worker.instance,
  provider: worker.provider,
  tags: worker.tags,
  models: worker.models,
  ...(worker.runtimeModels === null ? {} : { runtime_models: worker.runtimeModels }),
  concurrency: worker.concurrency,
  // Now and then one is started again that does not let its models be managed.
  ...(chance < 0.95 ? { can: ["pull", "load", "unload"] } : {}),
  // Most list their jobs; some do not, and some have lost them.
  ...(chance < 0.6 ? { jobs: [...worker.held.keys()] } : chance < 0.7 ? { jobs: [] } : {}),
});

/** Lists with the model that jobs ask for, without it, empty, and without a name that every object has. */
const LISTS: readonly [string[] | null, ...(string[] | null)[]] = [
  null,
  ["m"],
  ["other"],
  [],
  ["/models/m.gguf", "constructor"],
];

const changeList = (world: World, worker: WorkerActor, to: number): void => {
  const next = oneOf(LISTS, to);
  if (JSON.stringify(next) === JSON.stringify(worker.runtimeModels)) return;
  worker.runtimeModels = next;
  for (const key of world.model.lacking.keys())
    if (key.startsWith(`${worker.instance} `)) world.model.lacking.delete(key);
};

const changeOffer = (world: World, worker: WorkerActor, [, what, to]: Chances): void => {
  if (what < 0.06) worker.concurrency = Math.floor(to * 4);
  else if (what < 0.1) worker.provider = oneOf(["p", "q", "ollama"], to);
  else if (what < 0.14) worker.tags = oneOf(["", "a", "a,b"], to);
  else if (what < 0.24) changeList(world, worker, to);
};

const noteOffer = ({ model }: World, { instance, concurrency }: WorkerActor): void => {
  model.offered.set(instance, Math.max(model.offered.get(instance) ?? 0, concurrency));
};

export const reportPresence: WorkerAction = async (world, worker, chances) => {
  changeOffer(world, worker, chances);
  const body = presenceOf(worker, chances[3]);
  noteOffer(world, worker);
  if (worker.socket?.isOpen && chances[2] < 0.8) return say(world, worker, { type: "presence", ...body });
  const answer = await world.shell.call(worker.credential, "reportPresence", { ...toPresence(body), viaSocket: false });
  if (!answer?.ok) return;
  noteSign(world, worker);
  for (const id of answer.value.halted) worker.held.delete(id);
  for (const job of answer.value.jobs) takeLease(world, worker, job);
};

/** Sends a message over the socket. */
export const say = async (world: World, worker: WorkerActor, message: Record<string, unknown>): Promise<void> => {
  const { socket } = worker;
  if (socket === null || !socket.isOpen) return;
  const tenant = await world.shell.tenantAt(socket);
  const frame = JSON.stringify({ ...message, id: world.fresh("message") });
  if (world.shell.sockets.has(socket)) noteSign(world, worker);
  await tenant.webSocketMessage(socket as unknown as WebSocket, frame).catch(() => {});
};

export const connect: WorkerAction = async (world, worker) => {
  const tenant = await world.shell.tenant();
  const headers = new Headers({
    "x-signalbox-credential": JSON.stringify(worker.credential),
    "x-signalbox-instance": worker.instance,
  });
  const response = await tenant.fetch({ headers } as Request).catch(() => null);
  if (response?.status === 101) worker.socket = response.webSocket as unknown as SimulatedSocket;
  world.shell.sockets.cutUnheld(new Set([...world.workers, ...world.viewers].map(({ socket }) => socket)));
  if (response?.status !== 101) return;
  noteSign(world, worker);
};

const dropSocket: WorkerAction = (_world, worker) => {
  worker.socket?.close();
};

/** Answered by the platform while the object sleeps. */
const ping: WorkerAction = (world, worker) => {
  if (!worker.socket?.isOpen) return;
  worker.socket.pingedAt = world.shell.clock.nowAt;
  if (world.shell.sockets.has(worker.socket)) noteSign(world, worker);
};

export const claim: WorkerAction = async (world, worker, chances) => {
  const request = { instance: worker.instance, max: 1 + Math.floor(chances[1] * 2) };
  noteSign(world, worker);
  const answer = await world.shell.call(worker.credential, "claim", { ...request, isWaiting: false });
  if (answer?.ok) for (const job of answer.value.jobs) takeLease(world, worker, job);
};

const waitForJob: WorkerAction = async (world, worker, chances) => {
  const tenant = await world.shell.tenant();
  const waitMs = Math.ceil(chances[1] * 25_000);
  // It is alive for as long as it waits.
  noteSign(world, worker, waitMs);
  const request = { instance: worker.instance, max: 1 };
  const answer = await tenant.claimWaiting(worker.credential, request, waitMs).catch(() => null);
  if (answer?.ok) for (const job of answer.value.jobs) takeLease(world, worker, job);
};

const SOCKET_TYPES = {
  startJob: "job.started",
  heartbeatJob: "job.heartbeat",
  completeJob: "job.completed",
  failJob: "job.failed",
  releaseJob: "job.released",
} as const;

/** A report that starts the job, and of which the worker heard nothing: a later start may be no news. */
export const noteUnheard = ({ model }: World, { id, lease }: { id: string; lease: number }): void => {
  const key = `${id}/${lease}`;
  if (!model.beats.has(key)) model.beats.set(key, Number.NEGATIVE_INFINITY);
};

/** Sends a report over the worker's connection; over HTTP it learns whether it was accepted, and gets the job. */
const deliver = async (world: World, worker: WorkerActor, report: SentReport): Promise<JobResource | null> => {
  const { operation, request } = report;
  const mayStart = operation === "startJob" || operation === "heartbeatJob";
  if (worker.socket?.isOpen) {
    if (mayStart) noteUnheard(world, request);
    await say(world, worker, onTheWire(report));
    return null;
  }
  noteSign(world, worker);
  const askedAt = world.shell.clock.elapsedAt;
  const answer = await world.command(worker.credential, operation, request as never);
  if (answer === null && mayStart) noteUnheard(world, request);
  const key = `${request.id}/${request.lease}`;
  // A repeated start is no news.
  const isBeat = operation === "heartbeatJob" || (operation === "startJob" && !world.model.beats.has(key));
  if (answer?.ok && isBeat) world.model.beats.set(key, askedAt);
  if (answer?.ok && operation === "completeJob") world.model.acknowledge(request.id, request.lease);
  return answer?.ok ? (answer.value as JobResource) : null;
};

/** The same report as a socket message: flat, in snake case. */
export const onTheWire = ({ operation, request }: SentReport): Record<string, unknown> => {
  const { id, lease, usage, costUsd, retryAfterMs, error, model: _model, ...rest } = request;
  const used = usage as { inputTokens: number; outputTokens: number } | null | undefined;
  return {
    type: SOCKET_TYPES[operation],
    job_id: id,
    lease,
    ...rest,
    ...(used == null ? {} : { usage: { input_tokens: used.inputTokens, output_tokens: used.outputTokens } }),
    ...(costUsd == null ? {} : { cost_usd: costUsd }),
    ...(error === undefined
      ? {}
      : { error: { ...(error as object), retry_after_seconds: ((retryAfterMs as number | null) ?? 0) / 1000 } }),
  };
};

const sendReport = (world: World, worker: WorkerActor, report: SentReport): Promise<JobResource | null> => {
  worker.sent.push(report);
  if (worker.sent.length > MAX_REMEMBERED_REPORTS) worker.sent.shift();
  return deliver(world, worker, report);
};

const heldBy = (worker: WorkerActor, chance: number) => pickOf([...worker.held], chance);

export const start: WorkerAction = async (world, worker, chances) => {
  const found = pickOf(
    [...worker.held].filter(([, held]) => !held.isStarted),
    chances[1],
  );
  if (found === undefined) return;
  const [id, held] = found;
  held.isStarted = true;
  await sendReport(world, worker, { operation: "startJob", request: { id, lease: held.lease } });
};

const beat: WorkerAction = async (world, worker, chances) => {
  const found = heldBy(worker, chances[1]);
  if (found === undefined) return;
  const [id, { lease }] = found;
  const progress = chances[2] < 0.4 ? { progress: { percent: Math.floor(chances[3] * 100) } } : {};
  await sendReport(world, worker, { operation: "heartbeatJob", request: { id, lease, ...progress } });
};

const spent = (chance: number) => ({
  usage: chance < 0.5 ? { inputTokens: Math.floor(chance * 1000), outputTokens: 7 } : null,
  costUsd: chance > 0.3 ? Math.floor(chance * 1000) / 1e6 : null,
  model: null,
});

/** `text` makes the result as long as it may be. */
export const completion = (world: World, id: string, lease: number, chance: number, text?: string): SentReport => {
  world.model.reports.push({ jobId: id, lease });
  const report = world.model.reports.length - 1;
  const result = text === undefined ? { report } : { report, text };
  return { operation: "completeJob", request: { id, lease, result, ...spent(chance) } };
};

const completeWith =
  (text?: string): WorkerAction =>
  async (world, worker, chances) => {
    const found = heldBy(worker, chances[1]);
    if (found === undefined) return;
    const [id, { lease }] = found;
    worker.held.delete(id);
    await sendReport(world, worker, completion(world, id, lease, chances[2], text));
  };

export const complete = completeWith();

const ERRORS = [
  { code: "rate_limited", message: "slow down", status: 429, retryable: true },
  { code: "upstream", message: "broken", status: 503, retryable: true },
  { code: "bad_request", message: "no", retryable: false },
  { code: "insufficient_quota", message: "empty", status: 429, retryable: false },
] satisfies JobError[];

/** Two reports of one lease may be in progress: either may be accepted. */
const noteAsked = ({ model }: World, key: string, retryAfterMs: number): void => {
  model.askedToWait.set(key, Math.min(model.askedToWait.get(key) ?? Number.POSITIVE_INFINITY, retryAfterMs));
};

export const failure = (world: World, id: string, lease: number, chances: Chances): SentReport => {
  const retryAfterMs = Math.floor(chances[3] * 20) * 1000;
  const error = pickOf(ERRORS, chances[2]);
  noteAsked(world, `${id}/${lease}`, retryAfterMs);
  return { operation: "failJob", request: { id, lease, error, retryAfterMs, ...spent(chances[3]) } };
};

export const fail: WorkerAction = async (world, worker, chances) => {
  const found = heldBy(worker, chances[1]);
  if (found === undefined) return;
  const [id, { lease }] = found;
  worker.held.delete(id);
  await sendReport(world, worker, failure(world, id, lease, chances));
};

const MISSING = { code: "model_not_found", message: "Model not found", status: 404, retryable: false };
const MISSING_FOR_MS = 300_000;

/** Its runtime does not have the job's model, whatever it lists. */
const lack: WorkerAction = async (world, worker, chances) => {
  const found = heldBy(worker, chances[1]);
  if (found === undefined) return;
  const [id, { lease }] = found;
  worker.held.delete(id);
  const request = { id, lease, error: MISSING, retryAfterMs: null, ...spent(chances[3]) };
  const job = await sendReport(world, worker, { operation: "failJob", request });
  if (job?.model == null) return;
  const fromAt = world.shell.clock.nowAt;
  world.model.lacking.set(`${worker.instance} ${job.model}`, { fromAt, untilAt: fromAt + MISSING_FOR_MS });
};

/** Every job running at the worker's provider meets its rate limit, one with a longer wait than the other. */
const refuseAll: WorkerAction = async (world, { provider }, chances) => {
  let chance = chances[3];
  for (const worker of world.workers.filter((one) => one.provider === provider))
    for (const [id, { lease }] of [...worker.held]) {
      worker.held.delete(id);
      chance = (chance * 7.31) % 1;
      const retryAfterMs = Math.floor(chance * 60) * 1000;
      noteAsked(world, `${id}/${lease}`, retryAfterMs);
      const request = { id, lease, error: ERRORS[0], retryAfterMs, ...spent(chance) };
      await sendReport(world, worker, { operation: "failJob", request });
    }
};

const release: WorkerAction = async (world, worker, chances) => {
  const found = heldBy(worker, chances[1]);
  if (found === undefined) return;
  const [id, { lease }] = found;
  worker.held.delete(id);
  await sendReport(world, worker, { operation: "releaseJob", request: { id, lease, reason: "simulated" } });
};

/** Only a socket carries it. */
const speak: WorkerAction = async (world, worker, chances) => {
  const found = heldBy(worker, chances[1]);
  if (found === undefined) return;
  const [id, { lease }] = found;
  noteUnheard(world, { id, lease });
  await say(world, worker, { type: "job.streaming", job_id: id, lease });
};

const repeatReport: WorkerAction = async (world, worker, chances) => {
  const report = pickOf(worker.sent, chances[1]);
  if (report !== undefined) await deliver(world, worker, report);
};

/** A report on a lease that was never this worker's, or ended long ago. */
const reportForAnother: WorkerAction = async (world, worker, chances) => {
  const seen = pickOf([...world.model.seen.values()], chances[1]);
  if (seen === undefined) return;
  const lease = Math.max(0, seen.job.lease + oneOf([-1, 1, -2], chances[2]));
  await deliver(world, worker, completion(world, seen.job.id, lease, chances[3]));
};

const crash: WorkerAction = (_world, worker) => {
  worker.socket?.close();
  worker.socket = null;
  worker.held.clear();
};

export const WORKER_ACTIONS = {
  "report presence": withWorker(reportPresence),
  "connect a socket": withWorker(connect),
  "drop a socket": withWorker(dropSocket),
  ping: withWorker(ping),
  claim: withWorker(claim),
  "wait for a job": withWorker(waitForJob),
  start: withWorker(start),
  beat: withWorker(beat),
  complete: withWorker(complete),
  "complete at length": withWorker(completeWith(LONG_TEXT)),
  fail: withWorker(fail),
  "lack a model": withWorker(lack),
  release: withWorker(release),
  "say the first word": withWorker(speak),
  "a provider refuses all": withWorker(refuseAll),
  "repeat a report": withWorker(repeatReport),
  "report for another": withWorker(reportForAnother),
  "crash a worker": withWorker(crash),
} satisfies Partial<Record<StepKind, Action>>;
