// The check after a step: what the API shows must match the model and keep every promise that is visible from outside.
// Reads of one check may be before and after an alarm, so what is only true within an instant is read again before it
// counts.

import { isLeased, type JobState } from "./job-state.ts";
import { Contradiction, type Model } from "./model.ts";
import { type System, until, type View } from "./system.ts";
import { isSurelyOffline, mayBeOffline, type WorkerState } from "./worker-state.ts";

const LOOKS = 4;
const LEASES_TO_PAUSE = 5;
const FAILURES_TO_PAUSE = 10;
/** The outbox is drained soon after, or after its back-off. */
const DRAINED_WITHIN_MS = 5_000;

/** Checks until everything agrees, or something contradicts. */
export const agree = async (model: Model, system: System): Promise<void> => {
  for (let look = 1; ; look += 1) {
    const before = loads(model);
    const view = await system.look([...model.jobs.keys()]);
    model.expand();
    for (const job of view.jobs) model.observe(job);
    const wrong = CHECKS.map((check) => check(model, view, before)).find((found) => found !== null);
    if (wrong === undefined) break;
    if (look === LOOKS) throw new Contradiction(wrong ?? "");
  }
  await alarmIsArmed(system);
};

type Check = (model: Model, view: View, before: ReadonlyMap<string, ReadonlySet<string>>) => string | null;

/** Who holds which leases. */
const loads = (model: Model): Map<string, Set<string>> => {
  const held = new Map<string, Set<string>>();
  for (const [job] of model.jobs.values()) {
    if (job === undefined || !isLeased(job) || job.worker === null) continue;
    held.set(job.worker, (held.get(job.worker) ?? new Set()).add(`${job.id}/${job.lease}`));
  }
  return held;
};

const statesOf = (model: Model): JobState[] => [...model.jobs.values()].flatMap(([job]) => job ?? []);

/** Accepts a pause that the service itself may have made, and nothing else. */
const adoptPause = (model: Model, worker: WorkerState, reason: string | null): WorkerState => {
  if (worker.pause !== null || reason === null) return worker;
  const isForLeases = reason.includes("let leases expire") && worker.expiredLeases >= LEASES_TO_PAUSE;
  const isForFailures = /jobs in a row|after its rest/.test(reason) && worker.failures >= FAILURES_TO_PAUSE;
  if (!isForLeases && !isForFailures) return worker;
  const paused = { ...worker, pause: "by the service" as const };
  model.workers.set(worker.instance, paused);
  return paused;
};

const pauseReasonOf = ({ pause, isHalted }: WorkerState): RegExp | null => {
  if (pause !== null) return pause === "by hand" ? /^by hand$/ : /rests until/;
  return isHalted ? /^killswitch\b/ : null;
};

const workersAgree: Check = (model, view) => {
  if (view.workers.length !== model.workers.size)
    return `${view.workers.length} workers are listed, and ${model.workers.size} are registered`;
  for (const shown of view.workers) {
    const known = model.workers.get(shown.instance);
    if (known === undefined) return `nobody registered ${shown.instance}`;
    const worker = adoptPause(model, known, shown.pause_reason);
    const load = model.loadOf(worker.instance);
    const reason = pauseReasonOf(worker);
    if (shown.current_load !== load)
      return `${worker.instance} is shown with load ${shown.current_load}, it holds ${load}`;
    if (shown.concurrency !== worker.concurrency)
      return `${worker.instance} is shown with concurrency ${shown.concurrency}`;
    if (shown.connected !== worker.isConnected) return `${worker.instance} is shown with connected ${shown.connected}`;
    if (shown.provider !== worker.provider || shown.tags !== worker.tags.join())
      return `${worker.instance} lost its offer`;
    if (shown.paused !== (reason !== null) || (reason !== null && !reason.test(shown.pause_reason ?? "")))
      return `${worker.instance} is shown paused for "${shown.pause_reason}", and not ${reason}`;
    const live = load >= worker.concurrency ? "busy" : load === 0 ? "idle" : "online";
    const allowed = [
      ...(mayBeOffline(worker, view.nowAt) ? ["offline"] : []),
      ...(isSurelyOffline(worker, view.nowAt) ? [] : [live]),
    ];
    if (!allowed.includes(shown.status))
      return `${worker.instance} is shown ${shown.status}, not ${allowed.join(" or ")}`;
  }
  const present = view.workers.filter(({ status }) => status !== "offline").map(({ instance }) => instance);
  return present.join() === view.present.join() ? null : `${view.present} are present, and ${present} are not offline`;
};

const capacityHolds: Check = (model, _view, before) => {
  for (const [instance, leases] of loads(model)) {
    const isGrown = [...leases].some((lease) => before.get(instance)?.has(lease) !== true);
    const worker = model.workers.get(instance);
    if (!isGrown || worker === undefined) continue;
    if (leases.size > worker.concurrency)
      return `${instance} was given ${leases.size} jobs, and takes ${worker.concurrency}`;
    const limit = worker.provider === "p" ? (model.limits.rateLimit?.maxConcurrent ?? null) : null;
    if (limit !== null && model.providerLoad("p") > limit)
      return `provider p was given ${model.providerLoad("p")} jobs, and takes ${limit}`;
  }
  return null;
};

const killswitchHolds: Check = (model, { killswitch }) => {
  const { level, active, halted_jobs, paused_workers } = killswitch;
  if (level !== model.level || active !== model.level > 0) return `the killswitch is at ${level}, not ${model.level}`;
  if (halted_jobs !== model.haltedJobs) return `the killswitch halted ${halted_jobs} jobs, not ${model.haltedJobs}`;
  if (paused_workers !== model.pausedWorkers)
    return `the killswitch paused ${paused_workers} workers, not ${model.pausedWorkers}`;
  const leased = level > 0 ? statesOf(model).find(isLeased) : undefined;
  return leased === undefined ? null : `job ${leased.id} is ${leased.status} at level ${level}`;
};

const gauge = (metrics: string, name: string): number =>
  Number(new RegExp(`^${name} (\\S+)$`, "m").exec(metrics)?.[1] ?? Number.NaN);

/** Conservation: the counts of the indexes match the jobs. */
const countersAgree: Check = (model, { metrics }) => {
  const jobs = statesOf(model);
  const leases = jobs.filter(isLeased).length;
  if (gauge(metrics, "signalbox_leases") !== leases)
    return `${gauge(metrics, "signalbox_leases")} leases are counted, and ${leases} jobs are leased`;
  const pending = jobs.filter(({ status }) => status === "pending");
  const queued = gauge(metrics, "signalbox_queue_jobs");
  if (queued < pending.filter(({ isQueued }) => isQueued).length || queued > pending.length)
    return `${queued} jobs are counted as waiting, and ${pending.length} are pending`;
  const level = gauge(metrics, "signalbox_killswitch_level");
  return level === model.level ? null : `the metrics say killswitch level ${level}`;
};

const nobodyWaitsInVain: Check = (model, view) => {
  for (const shown of view.jobs) {
    if ((shown.waiting_reason !== null) !== (shown.status === "pending"))
      return `job ${shown.id} is ${shown.status}, and waits for ${shown.waiting_reason}`;
  }
  for (const job of statesOf(model)) {
    if (job.status !== "pending" || !job.isQueued) continue;
    for (const worker of model.workers.values()) {
      if (model.mustTake(worker, job, view.nowAt) && model.hasRoom(worker))
        return `job ${job.id} waits, and ${worker.instance} could have it`;
    }
  }
  return null;
};

const CHECKS: readonly Check[] = [workersAgree, capacityHolds, killswitchHolds, countersAgree, nobodyWaitsInVain];

/** If something is due, the alarm is set for then or earlier. While the handler runs, the platform shows none. */
const alarmIsArmed = (system: System): Promise<void> =>
  until("an alarm is armed for what is due", async () => {
    const { dueAt, armedAt, outbox } = await system.timetable();
    const nowAt = Date.now();
    const latestAt = Math.min(
      dueAt === null ? Number.POSITIVE_INFINITY : Math.max(dueAt, nowAt),
      outbox > 0 ? nowAt + DRAINED_WITHIN_MS : Number.POSITIVE_INFINITY,
    );
    return !Number.isFinite(latestAt) || (armedAt !== null && armedAt <= latestAt);
  });
