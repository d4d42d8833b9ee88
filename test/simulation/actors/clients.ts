// The clients, the operators and the owners of schedules.

import { configDocument } from "../../../contract/config/config.ts";
import type { JobResource } from "../../../contract/jobs/job.ts";
import type { NewJob } from "../../../domain/job/new-job.ts";
import type { Refusal } from "../../../domain/words/refusal.ts";
import { PRIORITIES } from "../../../domain/words/requirements.ts";
import type { Result } from "../../../domain/words/result.ts";
import { FINAL_GRACE_MS } from "../../../durable-objects/turn/deadline.ts";
import type { Creation } from "../model.ts";
import type { Step, StepKind } from "../plan.ts";
import { oneOf, pickOf } from "../platform/random.ts";
import type { Heard } from "../platform/shell.ts";
import type { SimulatedSocket } from "../platform/sockets.ts";
import { type Action, keyOf, type World } from "../world.ts";
import { mustRefuse } from "./limits.ts";

type Chances = Step["chances"];

const DELAYED_SHARE = 0.12;
const KEYED_SHARE = 0.6;
const DAY_MS = 86_400_000;

const newJob = (world: World, [wanted, model, tags, priority, later]: Chances): NewJob => {
  const prompt = world.fresh("prompt");
  world.model.asked.add(prompt);
  return {
    prompt,
    input: { of: prompt },
    provider: oneOf([null, null, "p", "q"], wanted),
    model: oneOf([null, null, "m", null, "constructor"], model),
    tags: oneOf([[], ["a"], ["b", "a"], ["b"], ["nobody"]], (tags * 17) % 0.99),
    priority: oneOf(PRIORITIES as unknown as ["low", "high"], priority),
    tier: null,
    timeoutMs: later > 0.9 ? 20_000 : null,
    maxAttempts: oneOf([null, 1, 2], (later * 7) % 1),
    runAt: later < DELAYED_SHARE ? world.shell.clock.nowAt + Math.ceil(later * 500_000) : null,
    schedule: null,
    fairnessKey: oneOf([null, null, "f", "g"], (priority * 31 + model * 7) % 1),
  };
};

/** The latest time that the object has seen: what it forgot then stays forgotten when its clock is set back. */
const latestAt = ({ clock }: World["shell"]): number => Math.max(clock.nowAt, clock.setBackFromAt);

/** Sends a creation and compares the answer with earlier answers; null without an answer. */
const send = async (world: World, creation: Creation): Promise<Heard<JobResource>> => {
  const { shell } = world;
  const { operation, job, mayQueue, key } = creation;
  if (latestAt(shell) - creation.askedAt >= DAY_MS) {
    world.model.askedAgain.add(job.prompt);
    if (creation.jobId !== null) creation.before = { jobId: creation.jobId, askedAt: creation.askedAt };
    creation.askedAt = shell.clock.nowAt;
    creation.jobId = null;
  }
  if (creation.jobId === null) {
    creation.lastAskedAt = shell.clock.nowAt;
    creation.askedAt = Math.min(creation.askedAt, creation.lastAskedAt);
  }
  const idempotency = key === null ? null : { key, bodyHash: JSON.stringify(job) };
  const answer =
    operation === "createJob"
      ? await shell.call(world.admin, "createJob", { job, idempotency })
      : await shell.call(world.admin, "dispatch", { job, mayQueue, idempotency });
  return hear(world, creation, answer);
};

const hear = (world: World, creation: Creation, answer: Heard<JobResource>): Heard<JobResource> => {
  const { model, shell } = world;
  const { job, key, jobId, askedAt } = creation;
  const isOver = latestAt(shell) - askedAt >= DAY_MS;
  // The day may have ended between the question and its turn.
  if (isOver) model.askedAgain.add(job.prompt);
  const isKnown = jobId !== null && key !== null && !isOver;
  if (answer === null) return null;
  if (!answer.ok) {
    if (jobId === null && key === null) model.refused.add(job.prompt);
    if (isKnown && answer.error.code !== "killswitch_active")
      model.violate(`repeating the creation of ${jobId} was refused: ${answer.error.code}`);
    return answer;
  }
  const created = answer.value;
  if (isKnown && jobId !== created.id) model.violate(`one idempotency key made two jobs: ${jobId} and ${created.id}`);
  if (created.prompt !== job.prompt) model.violate(`job ${created.id} was answered with another's prompt`);
  // The old answer again: its day began later than the first question, and ends we do not know when.
  if (creation.before?.jobId === created.id) creation.askedAt = creation.before.askedAt;
  // The clock may have been set back between the question and its turn.
  if (jobId === null) creation.askedAt = Math.min(creation.askedAt, shell.clock.nowAt);
  creation.jobId = created.id;
  model.accept(created.id, created.prompt);
  return answer;
};

const create =
  (operation: Creation["operation"]): Action =>
  async (world, chances) => {
    const creation: Creation = {
      operation,
      job: newJob(world, chances),
      mayQueue: chances[1] < 0.5,
      key: chances[4] < KEYED_SHARE ? world.fresh("key") : null,
      askedAt: world.shell.clock.nowAt,
      lastAskedAt: world.shell.clock.nowAt,
      jobId: null,
      before: null,
    };
    world.model.creations.push(creation);
    const isFull = mustRefuse(world);
    const answer = await (operation === "dispatch" ? dispatchAsExplained(world, creation) : send(world, creation));
    if (answer !== null && mustRefuse(world) === isFull) checkBacklog(world, isFull, answer);
  };

/** A full storage takes no new job; any other does. */
const checkBacklog = ({ model }: World, isFull: boolean | null, answer: Result<JobResource, Refusal>): void => {
  if (isFull === true && answer.ok) model.violate(`job ${answer.value.id} was accepted by a full object`);
  if (isFull === false && !answer.ok && answer.error.code === "history_backlog")
    model.violate("a job was refused by an object that is not full");
};

/** Explains a job and dispatches it in the same step: the two must agree. */
const dispatchAsExplained = async (world: World, creation: Creation): Promise<Heard<JobResource>> => {
  const { provider, model, tags, tier, priority, runAt } = creation.job;
  const asked = { id: null, provider, model, tags, tier, urgency: priority };
  const explaining = world.shell.call(world.admin, "explain", asked);
  const answer = await send(world, creation);
  const explained = await explaining;
  if (answer === null || explained === null || !explained.ok || runAt !== null) return answer;
  // What a full storage does is no matter of routing.
  if (!answer.ok && answer.error.code === "history_backlog") return answer;
  const { selected } = explained.value;
  const taken = answer.ok ? answer.value.assigned_worker : null;
  // The explaining turn may have noticed that the worker is alive again, and assigned it a waiting job.
  const isGivenOther = world.shell.store?.jobs
    .leasedBy(selected ?? "")
    .some(({ id, assignedAt }) => assignedAt === world.shell.clock.nowAt && id !== creation.jobId);
  if (selected !== taken && !isGivenOther)
    world.model.violate(`explain would have taken ${selected}, dispatch took ${taken}`);
  return answer;
};

const createBatch: Action = async (world, chances) => {
  const count = 2 + Math.floor(chances[0] * 5);
  const jobs = Array.from({ length: count }, (_, index) =>
    newJob(world, chances.map((chance) => (chance + index * 0.618) % 1) as unknown as Chances),
  );
  const answer = await world.shell.call(world.admin, "createJobs", { jobs, idempotency: null });
  if (answer === null) return;
  if (answer.ok) for (const job of answer.value.jobs) world.model.accept(job.id, job.prompt);
  else for (const job of jobs) world.model.refused.add(job.prompt);
};

const repeatCreation: Action = async (world, [which, other]) => {
  const keyed = world.model.creations.filter((creation) => creation.key !== null);
  const creation = pickOf(keyed, which);
  if (creation === undefined) return;
  if (other > 0.15) await send(world, creation);
  else if (creation.jobId !== null && latestAt(world.shell) - creation.askedAt < DAY_MS)
    await sendOtherBody(world, creation);
};

/** A key is known to the last millisecond of its day, and no longer. */
const repeatADayLater: Action = async (world, [which, when]) => {
  const { clock } = world.shell;
  const creation = pickOf(
    world.model.creations.filter(({ key, jobId }) => key !== null && jobId !== null),
    which,
  );
  if (creation === undefined) return;
  const dayEndsAt = creation.askedAt + DAY_MS;
  if (dayEndsAt - 1 < clock.nowAt) return;
  // No call waits for a day: claims and sockets end with the machine.
  world.shell.crash("deployed");
  clock.nowAt = when < 0.7 ? dayEndsAt - 1 : dayEndsAt;
  if (when < 0.4) await world.shell.nudge();
  const known = creation.askedAt === creation.lastAskedAt ? creation.jobId : null;
  const answer = await send(world, creation);
  // The next step may have set the clock back before the object looked at it.
  if (answer?.ok && clock.nowAt >= dayEndsAt && answer.value.id === known)
    world.model.violate(`key ${creation.key} is known longer than a day`);
};

const sendOtherBody = async (world: World, { operation, job, key, mayQueue }: Creation): Promise<void> => {
  const idempotency = { key: key ?? "", bodyHash: "another body" };
  const answer: Heard<unknown> =
    operation === "createJob"
      ? await world.shell.call(world.admin, "createJob", { job, idempotency })
      : await world.shell.call(world.admin, "dispatch", { job, mayQueue, idempotency });
  if (answer?.ok) world.model.violate(`key ${key} was taken again with another body`);
};

const anyJob = (world: World, chance: number): string | undefined => {
  const ids = [...world.model.seen.keys()];
  const inList = (chance * 31) % 1;
  // Mostly one of the latest, or one that is about to leave the object.
  if (chance < 0.8) return pickOf(ids.slice(-12), inList);
  return (chance > 0.88 ? pickOf(justEnded(world), inList) : undefined) ?? pickOf(ids, inList);
};

const justEnded = ({ model, shell }: World): string[] =>
  [...model.seen.values()].flatMap(({ job }) =>
    shell.clock.nowAt - (job.finishedAt ?? 0) < FINAL_GRACE_MS ? [job.id] : [],
  );

const cancel: Action = async (world, [which]) => {
  const id = anyJob(world, which);
  if (id !== undefined) await world.command(world.admin, "cancelJob", { id });
};

const retry: Action = async (world, [which]) => {
  const failed = [...world.model.seen.values()].filter(({ job }) => job.status === "failed").map(({ job }) => job.id);
  const id = which < 0.7 ? pickOf(failed, which / 0.7) : anyJob(world, which);
  if (id === undefined) return;
  world.model.retried.add(id);
  await world.command(world.admin, "retryJob", { id });
};

const patch: Action = async (world, [which, tags, priority]) => {
  const id = anyJob(world, which);
  if (id === undefined) return;
  const change = {
    ...(tags < 0.5 ? { tags: oneOf([[], ["a"], ["b"]], tags * 2) } : {}),
    priority: oneOf(["low", "high", "critical"] as const, priority),
  };
  await world.command(world.admin, "patchJob", { id, patch: change });
};

const read: Action = async (world, [which]) => {
  const id = pickOf([...world.model.accepted.keys()], which);
  if (id === undefined) return;
  const answer = await world.command(world.admin, "getJob", { id });
  if (answer === null) return;
  if (!answer.ok) world.model.violate(`accepted job ${id} cannot be read: ${answer.error.code}`);
  else if (answer.value.prompt !== world.model.accepted.get(id)) world.model.violate(`job ${id} lost its prompt`);
};

const SETTINGS = [
  {},
  { jobs: { accept_within_seconds: 5, reap_stale_after_seconds: 20, timeout_seconds: 60, max_attempts: 2 } },
  { providers: { p: { rate_limit: { max_concurrent: 1, retry_after_seconds: 10, max_retries: 2 } } } },
  {
    budget: { day_usd: 0.001, on_reached: "killswitch" },
    jobs: { retry: { backoff_seconds: 7, max_backoff_seconds: 20 }, max_attempts: 3 },
  },
  {
    budget: { month_usd: 0.0015 },
    providers: { p: { budget: { day_usd: 0.0004 }, pricing: { "*": { input_per_mtok: 2, output_per_mtok: 5 } } } },
    presence: { offline_after_seconds: 30 },
  },
  {
    routing: { strategy: "fallback", chain: ["p", "q"] },
    providers: { q: { rate_limit: { max_concurrent: 2, max_retries: 0 } }, p: { rate_limit: { max_retries: 1 } } },
  },
  { routing: { strategy: "round_robin" }, jobs: { reap_stale_after_seconds: null, timeout_seconds: 40 } },
  { api: { limits: { requests_per_second: 0.5, burst: 3, in_flight: 2 } } },
  { routing: { strategy: "least_loaded" }, providers: { p: { pricing: { "*": { input_per_mtok: 3 } } } } },
].map((document) => configDocument.parse(document));

const configure: Action = async (world, [which]) => {
  const document = pickOf(SETTINGS, which);
  if (document === undefined) return;
  await world.shell.call(world.admin, "replaceConfig", { document, etag: world.fresh("etag"), ifMatch: null });
};

const throwKillswitch: Action = async (world, [level]) => {
  await world.shell.call(world.admin, "activateKillswitch", { level: Math.floor(level * 5), reason: "simulated" });
};

const clearKillswitch: Action = async (world, [resumeAll]) => {
  await world.shell.call(world.admin, "clearKillswitch", { resumeAll: resumeAll < 0.8 });
};

const instanceOf = (world: World, chance: number): string => pickOf(world.workers, chance)?.instance ?? "nobody";

const pause: Action = async (world, [which, until]) => {
  const untilAt = until < 0.6 ? world.shell.clock.nowAt + Math.ceil(until * 200_000) : null;
  await world.shell.call(world.admin, "pauseWorker", { instance: instanceOf(world, which), reason: null, untilAt });
};

const resume: Action = async (world, [which]) => {
  const instance = instanceOf(world, which);
  world.model.resumed.add(instance);
  await world.shell.call(world.admin, "resumeWorker", { instance });
};

const forget: Action = async (world, [which]) => {
  await world.shell.call(world.admin, "forgetWorker", { instance: instanceOf(world, which) });
};

const SCHEDULE_NAMES = ["first", "second"] as const;

const makeSchedule: Action = async (world, [which, timing, overlap]) => {
  const prompt = world.fresh("scheduled");
  world.model.schedulePrompts.add(prompt);
  const every = timing < 0.6 ? { interval: oneOf(["7s", "45s", "5m"], timing) } : { cron: "*/2 * * * *" };
  await world.shell.call(world.admin, "createSchedule", {
    name: oneOf(SCHEDULE_NAMES, which),
    prompt,
    overlap: overlap < 0.5 ? "skip" : "allow",
    ...every,
  });
};

const editSchedule: Action = async (world, [which, what]) => {
  const patches = [{ status: "paused" }, { status: "active" }, { interval: "11s" }, { tags: ["a"] }] as const;
  const name = oneOf(SCHEDULE_NAMES, which);
  await world.shell.call(world.admin, "editSchedule", { name, patch: pickOf(patches, what) ?? {} });
};

const deleteSchedule: Action = async (world, [which]) => {
  await world.shell.call(world.admin, "deleteSchedule", { name: oneOf(SCHEDULE_NAMES, which) });
};

const runSchedule: Action = async (world, [which]) => {
  const answer = await world.shell.call(world.admin, "runSchedule", {
    name: oneOf(SCHEDULE_NAMES, which),
    idempotency: null,
  });
  if (answer?.ok && answer.value.job_id !== null) world.model.runsByHand.add(answer.value.job_id);
};

/** The object that is there now has the connection. */
const isServed = ({ shell }: World, socket: SimulatedSocket | null): socket is SimulatedSocket =>
  socket?.isOpen === true && shell.sockets.has(socket);

/** The old key must be invalid at once; the worker gets a new one. */
const revokeKey: Action = async (world, [which]) => {
  const worker = pickOf(world.workers, which);
  if (worker === undefined) return;
  const old = worker.credential;
  const { socket } = worker;
  const revoked = await world.shell.call(world.admin, "revokeKey", { id: old.id });
  if (!revoked?.ok) return;
  world.endedKeys.add(old.id);
  const tried = await world.shell.call(old, "claim", { instance: worker.instance, max: 1, isWaiting: false });
  if (tried?.ok) world.model.violate(`revoked key ${old.id} still claims jobs`);
  if (isServed(world, socket) && socket.tags.includes(`key:${old.id}`))
    world.model.violate(`the socket of revoked key ${old.id} stays open`);
  worker.credential = keyOf(world.fresh("next-worker-key"));
  await world.makeKey(worker.credential);
};

/** The old secret is invalid at once, or when its grace is over; what it opened ends with it. */
const rotateKey: Action = async (world, [which, grace]) => {
  const worker = pickOf(world.workers, which);
  if (worker === undefined) return;
  const { credential: old, socket } = worker;
  const graceMs = grace < 0.5 ? 0 : Math.ceil(grace * 60_000);
  const hash = `hash of ${world.fresh("secret")}`;
  const rotated = await world.shell.call(world.admin, "rotateKey", { id: old.id, hash, graceMs });
  if (!rotated?.ok) return;
  worker.credential = { ...old, hash };
  if (graceMs > 0) return;
  const tried = await world.shell.call(old, "claim", { instance: worker.instance, max: 1, isWaiting: false });
  if (tried?.ok) world.model.violate(`the old secret of key ${old.id} still claims jobs`);
  if (isServed(world, socket) && socket.tags.includes(`key:${old.id}`))
    world.model.violate(`the socket of a rotated secret of key ${old.id} stays open`);
};

export const CLIENT_ACTIONS = {
  create: create("createJob"),
  dispatch: create("dispatch"),
  "create a batch": createBatch,
  "repeat a creation": repeatCreation,
  "repeat a creation a day later": repeatADayLater,
  cancel,
  retry,
  patch,
  read,
  configure,
  "throw the killswitch": throwKillswitch,
  "clear the killswitch": clearKillswitch,
  pause,
  resume,
  "forget a worker": forget,
  "make a schedule": makeSchedule,
  "edit a schedule": editSchedule,
  "delete a schedule": deleteSchedule,
  "run a schedule": runSchedule,
  "revoke a key": revokeKey,
  "rotate a key": rotateKey,
} satisfies Partial<Record<StepKind, Action>>;
