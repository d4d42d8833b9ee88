// The fleet as its operator sees and changes it: listed, read, paused, resumed, forgotten.

import {
  type FleetGrid,
  type FleetGridQuery,
  MAX_GRID_CELLS,
  presentCells,
} from "../../../contract/fleet/fleet-grid.ts";
import {
  MAX_FLEET_GROUPS,
  presentWorker,
  type WorkerDetail,
  type WorkerListQuery,
  type WorkerResource,
} from "../../../contract/fleet/worker.ts";
import { type JobResource, presentJob } from "../../../contract/jobs/job.ts";
import { startOf } from "../../../contract/text/start-of.ts";
import { toIso } from "../../../contract/words/field.ts";
import type { Member } from "../../../domain/fleet/fleet.ts";
import { countFirstStates, gridOf } from "../../../domain/fleet/fleet-grid.ts";
import { type Opening, openingAt, openingNow } from "../../../domain/fleet/hours.ts";
import { HALT_PAUSE, type Pause, pauseText } from "../../../domain/fleet/pause.ts";
import {
  pauseOf,
  pauseWorker,
  resumeWorker,
  unavailableOf,
  type Worker,
  type WorkerView,
} from "../../../domain/fleet/worker.ts";
import {
  type FleetSums,
  inOrder,
  isWanted,
  newestFirst,
  sumsOf,
  type WorkerFilter,
} from "../../../domain/fleet/worker-state.ts";
import type { Job } from "../../../domain/job/job.ts";
import type { Json } from "../../../domain/words/json.ts";
import { invalid, notFound, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { waitingReason } from "../../placing/waiting-reason.ts";
import { isSilent, presenceOf } from "../../steps/last-sign.ts";
import { MAX_LEASES_AN_ANSWER } from "../../steps/leases.ts";
import { recordLost } from "../../steps/lost-jobs.ts";
import { forgetTasks } from "../../steps/model-tasks.ts";
import { type Portion, portionOf } from "../../steps/portion.ts";
import { forgetSilence } from "../../steps/silence.ts";
import { forgetIdle } from "../../turn/idleness.ts";
import type { Turn } from "../../turn/turn.ts";

export const findWorker = (turn: Turn, instance: string): Result<Member, Refusal> => {
  const member = turn.memory.fleet.get(instance);
  return member === undefined ? err(notFound("worker", instance)) : ok(member);
};

export const viewOf = (turn: Turn, member: Member): WorkerView => {
  const { worker, load } = member;
  const { killswitch } = turn.memory;
  return {
    worker,
    load,
    ...presenceOf(turn, member),
    pause: shownPause(turn, worker),
    unavailable: unavailableOf(worker, turn.nowAt),
    connected: member.isConnected,
    haltConfirmed: killswitch.level === 0 ? null : worker.confirmedHalt >= killswitch.haltActivation,
  };
};

export const presentMember = (turn: Turn, member: Member): WorkerResource => presentView(turn, viewOf(turn, member));

const presentView = (turn: Turn, view: WorkerView): WorkerResource => {
  const { instance, models, machine } = view.worker;
  return presentWorker(view, {
    models: models === null ? null : turn.store.workers.modelsOf(instance).models,
    machine: machine === null ? null : turn.store.workers.machineOf(instance),
  });
};

/** While the killswitch is active only its name is shown: a worker can be resumed after it is cleared. */
const shownPause = (turn: Turn, worker: Worker): Pause | null => {
  const pause = pauseOf(worker, turn.nowAt);
  return turn.memory.killswitch.level > 0 && pause === HALT_PAUSE ? { ...pause, reason: "killswitch" } : pause;
};

export const listPresent = (
  turn: Turn,
  page: { limit: number; offset: number },
): Result<{ workers: WorkerResource[]; total: number }, Refusal> => {
  const present = [...turn.memory.fleet.members()].filter((member) => !isSilent(turn, member));
  const shown = newestFirst(present).slice(page.offset, page.offset + page.limit);
  return ok({ workers: lightPage(turn, shown), total: present.length });
};

/** An answer of the object may have 32 MiB; a thousand workers with the longest lists of models have twice that. */
const MAX_PAGE_CHARS = 8 * 1024 * 1024;

/** As many workers, from the first, as one answer can hold; the next page begins after them. */
const lightPage = (turn: Turn, members: readonly Member[]): WorkerResource[] => {
  const page: WorkerResource[] = [];
  let chars = 0;
  for (const member of members) {
    const shown = presentMember(turn, member);
    chars += JSON.stringify(shown).length;
    if (chars > MAX_PAGE_CHARS) break;
    page.push(shown);
  }
  return page;
};

/** Only the first portion of a page counts the fleet. */
type Listed = Portion<WorkerResource> & { total?: number; summary?: FleetSums };

const allViews = (turn: Turn): WorkerView[] => [...turn.memory.fleet.members()].map((member) => viewOf(turn, member));

const wantedOf = (turn: Turn, views: readonly WorkerView[], filter: WorkerFilter): WorkerView[] => {
  const naming = filter.q === undefined ? undefined : turn.store.workers.naming(filter.q);
  return views.filter((view) => isWanted(view, filter, naming));
};

/** The first of a page, in its order, or of those with these names. */
export const listWorkers = (
  turn: Turn,
  query: WorkerListQuery & { names?: readonly string[] },
): Result<Listed, Refusal> => {
  if (query.names !== undefined) return ok(portionOfWorkers(turn, query.names));
  const views = allViews(turn);
  const tellsModels = query.tells_models === "true";
  const wanted = inOrder(wantedOf(turn, views, { ...query, tellsModels }), query.sort);
  const page = wanted.slice(query.offset, query.offset + query.limit);
  return ok({
    ...portionOfWorkers(
      turn,
      page.map(({ worker }) => worker.instance),
    ),
    total: wanted.length,
    ...(query.summary === "true" ? { summary: sumsOf(views, MAX_FLEET_GROUPS) } : {}),
  });
};

const portionOfWorkers = (turn: Turn, names: readonly string[]): Portion<WorkerResource> =>
  portionOf(names, (name) => {
    const found = findWorker(turn, name);
    return found.ok ? presentMember(turn, found.value) : null;
  });

export const readGrid = (turn: Turn, query: FleetGridQuery): Result<FleetGrid, Refusal> => {
  const views = wantedOf(turn, allViews(turn), query);
  const bounds = { maxGroups: MAX_FLEET_GROUPS, maxCells: MAX_GRID_CELLS };
  return ok({
    by: query.by,
    total: views.length,
    states: countFirstStates(views),
    groups: gridOf(inOrder(views, "instance"), query.by, bounds).map(presentCells),
  });
};

export const getWorker = (turn: Turn, { instance }: { instance: string }): Result<WorkerDetail, Refusal> => {
  const found = findWorker(turn, instance);
  if (!found.ok) return found;
  const member = found.value;
  const { models, runtimeModels } = turn.store.workers.modelsOf(instance);
  return ok({
    ...presentWorker(viewOf(turn, member), { models, machine: turn.store.workers.machineOf(instance) }),
    apis: [...member.worker.apis],
    runtime_models: runtimeModels === null ? null : [...runtimeModels],
    jobs: turn.store.jobs
      .leasedBy(instance)
      .slice(0, MAX_LEASES_AN_ANSWER)
      .map((job) => presentShort(turn, job)),
    recent_outcomes: member.worker.outcomes.map((one) => ({
      job_id: one.jobId,
      outcome: one.outcome,
      code: one.code,
      at: toIso(one.at),
    })),
  });
};

const SHOWN_CHARS = 4096;

/** A worker's page shows its jobs without long values, and reads none; those are on the jobs' own pages. */
const presentShort = (turn: Turn, job: Job): JobResource => {
  const { prompt, input } = turn.store.payloads.findStart(job.id, SHOWN_CHARS);
  const truncated: JobResource["truncated"] = prompt.length > SHOWN_CHARS ? ["prompt"] : [];
  if (input === null) truncated.push("input");
  const payload = { prompt: startOf(prompt, SHOWN_CHARS), input: input === null ? null : (JSON.parse(input) as Json) };
  const shown = presentJob(job, payload, null, waitingReason(turn, job));
  return truncated.length === 0 ? shown : { ...shown, truncated };
};

export const forgetWorker = (turn: Turn, { instance }: { instance: string }): Result<null, Refusal> => {
  const found = findWorker(turn, instance);
  if (!found.ok) return found;
  if (!isSilent(turn, found.value)) return err({ code: "worker_not_offline", instance });
  forget(turn, found.value);
  return ok(null);
};

/** Its jobs go back to the queue. */
export const forget = (turn: Turn, { worker }: Member): void => {
  const { instance } = worker;
  const { fleet, haltConfirmed } = turn.memory;
  for (const job of turn.store.jobs.leasedBy(instance)) recordLost(turn, job);
  turn.store.workers.remove(instance);
  fleet.remove(instance);
  haltConfirmed?.instances.delete(instance);
  forgetSilence(turn, instance);
  forgetIdle(turn, instance);
  forgetTasks(turn, instance);
  turn.reopenAvoiding();
  turn.effects.forgottenWorkers.add(instance);
  turn.effects.handedOver.push({ ...worker, keyId: null });
  turn.audit("worker.forgotten", instance);
};

export const pause = (
  turn: Turn,
  request: { instance: string; reason: string | null; untilAt: number | null },
): Result<WorkerResource, Refusal> => {
  if (request.untilAt !== null && request.untilAt <= turn.nowAt) return err(invalid("until", "must be in the future"));
  const paused = changeWorker(turn, request.instance, (worker) => pauseWorker(worker, request.reason, request.untilAt));
  if (!paused.ok) return paused;
  turn.reopenAvoiding();
  const reason = paused.value.pause_reason ?? "";
  turn.send(request.instance, { type: "worker.paused", reason: pauseText(reason, paused.value.paused_until) });
  turn.audit("worker.paused", request.instance, { reason, until_at: request.untilAt });
  return paused;
};

/** Sets a worker's hours or, with null, removes them. */
export const setHours = (
  turn: Turn,
  { instance, hours, timezone }: { instance: string; hours: string | null; timezone: string },
): Result<WorkerResource, Refusal> => {
  const opening = hours === null ? null : openingAt(hours, timezone, turn.nowAt);
  const changed = changeWorker(turn, instance, (worker) => ({ ...worker, opening }));
  if (!changed.ok) return changed;
  noteOpening(turn, instance, opening?.isOpen !== false);
  turn.audit("worker.hours", instance, { hours, timezone: hours === null ? null : timezone });
  return changed;
};

/** Its hours begin or end. */
export const openOrClose = (turn: Turn, worker: Worker, before: Opening): void => {
  const opening = openingNow(before, turn.nowAt);
  turn.putWorker({ ...worker, opening });
  noteOpening(turn, worker.instance, opening.isOpen);
};

/** What is open takes jobs; what is closed leaves those that it has failed to others, or has them come back. */
const noteOpening = (turn: Turn, instance: string, isOpen: boolean): void => {
  if (isOpen) turn.freedWorkers.add(instance);
  else turn.reopenAvoiding();
};

export const resume = (turn: Turn, request: { instance: string }): Result<WorkerResource, Refusal> => {
  const resumed = changeWorker(turn, request.instance, (worker) => ({
    ...resumeWorker(worker),
    resumedEpoch: turn.memory.killswitch.pauseEpoch,
  }));
  if (!resumed.ok) return resumed;
  turn.freedWorkers.add(request.instance);
  turn.send(request.instance, { type: "worker.resumed" });
  turn.audit("worker.resumed", request.instance);
  return resumed;
};

const changeWorker = (
  turn: Turn,
  instance: string,
  change: (worker: Worker) => Worker,
): Result<WorkerResource, Refusal> => {
  const found = findWorker(turn, instance);
  if (!found.ok) return found;
  turn.putWorker(change(found.value.worker));
  return ok(presentMember(turn, found.value));
};
