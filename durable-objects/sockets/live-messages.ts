// What the dashboard's viewers see: reads only.

import { presentTask } from "../../contract/fleet/model-task.ts";
import { type CountedWorker, fleetByProvider } from "../../contract/fleet-by-provider.ts";
import { presentJob } from "../../contract/jobs/job.ts";
import {
  type LiveJob,
  type LiveMessage,
  type LiveSchedule,
  MAX_LIVE_RESOURCES,
  MAX_SNAPSHOT_RESOURCES,
} from "../../contract/live.ts";
import { startOf } from "../../contract/text/start-of.ts";
import { toIso } from "../../contract/words/field.ts";
import { PROMPT_START_CHARS } from "../../contract/words/values.ts";
import { keptPayload } from "../../domain/front-door/front-door.ts";
import type { Job } from "../../domain/job/job.ts";
import { usdFromNano } from "../../domain/money/price.ts";
import { HOUR_MS } from "../../domain/words/duration.ts";
import { isFinal } from "../../domain/words/job-status.ts";
import { presentMember, viewOf } from "../operations/fleet/workers.ts";
import { killswitchResource } from "../operations/halts/killswitch.ts";
import { queueView } from "../operations/jobs/queue.ts";
import { present as presentSchedule } from "../operations/schedules.ts";
import { storageState } from "../placing/storage-use.ts";
import { waitingReason } from "../placing/waiting-reason.ts";
import { removedModelsInUse } from "../steps/catalog.ts";
import { findTask } from "../steps/model-tasks.ts";
import { budgetReached } from "../steps/reached-budgets.ts";
import { statusCounts } from "../turn/counting.ts";
import type { LiveTopic } from "../turn/effects.ts";
import type { Turn } from "../turn/turn.ts";

export interface LiveChanges {
  readonly jobs: Set<string>;
  readonly workers: Set<string>;
  readonly forgotten: Set<string>;
  readonly modelTasks: Set<string>;
  /** `queue`: what waits, and what happened to jobs recently; `fleet`: its totals. Each at most once per second. */
  readonly topics: Set<LiveTopic | "queue" | "fleet">;
}

const presentLive = (turn: Turn, job: Job): LiveJob => {
  const asked = turn.store.payloads.find(job.id);
  const isKept = job.api === null || !isFinal(job.status);
  const payload = isKept ? asked : keptPayload(turn.memory.config.frontDoor.store, asked);
  const { prompt, input: _input, result: _result, ...rest } = presentJob(job, payload, null, waitingReason(turn, job));
  return { ...rest, prompt_start: startOf(prompt, PROMPT_START_CHARS) };
};

const liveSchedules = (turn: Turn): LiveSchedule[] =>
  turn.store.schedules.newestShown(MAX_LIVE_RESOURCES).map((one) => {
    const { prompt, input: _input, ...rest } = presentSchedule(turn, one);
    return { ...rest, prompt_start: startOf(prompt, PROMPT_START_CHARS) };
  });

/** The fields of each worker that the totals use. */
function* counted(turn: Turn): Generator<CountedWorker> {
  for (const member of turn.memory.fleet.members()) {
    const { status, pause, unavailable, load, worker } = viewOf(turn, member);
    const { provider, concurrency } = worker;
    yield { provider, status, paused: pause !== null, unavailable, concurrency, current_load: load };
  }
}

export const liveSnapshot = (turn: Turn): LiveMessage => ({
  type: "snapshot",
  server_time: toIso(turn.nowAt),
  jobs: turn.store.jobs.newest(MAX_SNAPSHOT_RESOURCES).map((job) => presentLive(turn, job)),
  workers: [...turn.memory.fleet.members()]
    // All of a small fleet, which viewers then sum up themselves.
    .slice(0, turn.memory.fleet.size > MAX_LIVE_RESOURCES ? MAX_SNAPSHOT_RESOURCES : MAX_LIVE_RESOURCES)
    .map((one) => presentMember(turn, one)),
  workers_total: turn.memory.fleet.size,
  fleet: fleetByProvider(counted(turn)),
  schedules: liveSchedules(turn),
  killswitch: killswitchResource(turn),
  counts: statusCounts(turn.memory),
  queue: queueView(turn),
  minutes: minutesSince(turn, turn.nowAt - HOUR_MS),
  ...costState(turn),
  ...catalogState(turn),
  ...storage(turn),
});

export const liveUpdates = (turn: Turn, changes: LiveChanges): LiveMessage[] => {
  const messages: LiveMessage[] = [];
  const counts = changes.jobs.size === 0 ? null : statusCounts(turn.memory);
  for (const { job } of turn.store.jobs.findMany([...changes.jobs])) {
    if (counts !== null) messages.push({ type: "job.updated", job: presentLive(turn, job), counts });
  }
  for (const instance of changes.workers) {
    const member = turn.memory.fleet.get(instance);
    if (member !== undefined) messages.push({ type: "worker.updated", worker: presentMember(turn, member) });
  }
  for (const instance of changes.forgotten) messages.push({ type: "worker.forgotten", instance });
  for (const id of changes.modelTasks) {
    const task = findTask(turn, id);
    if (task !== null) messages.push({ type: "model_task.updated", task: presentTask(task) });
  }
  if (changes.topics.has("killswitch"))
    messages.push({ type: "killswitch.updated", killswitch: killswitchResource(turn) });
  if (changes.topics.has("schedule")) messages.push({ type: "schedule.updated", schedules: liveSchedules(turn) });
  if (changes.topics.has("catalog")) {
    messages.push({ type: "catalog.updated", ...catalogState(turn) });
  }
  if (changes.topics.has("queue")) {
    messages.push({ type: "queue.updated", queue: queueView(turn) });
    messages.push({ type: "activity.updated", minutes: minutesSince(turn, turn.nowAt - NEWEST_MS) });
  }
  if (changes.topics.has("fleet")) messages.push({ type: "fleet.updated", fleet: fleetByProvider(counted(turn)) });
  if (changes.topics.has("cost")) messages.push({ type: "cost.updated", ...costState(turn) });
  if (changes.topics.has("storage")) messages.push({ type: "storage.updated", ...storage(turn) });
  return messages;
};

/** This minute and the one before. */
const NEWEST_MS = 120_000;

const minutesSince = (turn: Turn, at: number) =>
  turn.memory.counters.activity.since(at).map((minute) => ({ ...minute, at: toIso(minute.at) }));

const storage = (turn: Turn) => ({ ...storageState(turn), pruned: turn.memory.counters.prunedByStatus });

const catalogState = (turn: Turn) => ({ removed_models: removedModelsInUse(turn) });

const costState = (turn: Turn) => {
  const reached = budgetReached(turn);
  const budget =
    reached === null
      ? null
      : {
          period: reached.period,
          limit_usd: usdFromNano(reached.limitNanoUsd),
          spent_usd: usdFromNano(reached.spentNanoUsd),
          resets_at: toIso(reached.resetsAt),
        };
  const todayUsd = usdFromNano(turn.memory.spending.of("day", turn.nowAt));
  return { today_usd: todayUsd, budget_reached: budget };
};
