// The dashboard's WebSocket: a snapshot first, then the latest state of everything that changes. A frame is one message
// or an array. `seq` grows by one per message; after a gap the client reconnects for a new snapshot.

import * as z from "zod";
import { modelTaskResource } from "./fleet/model-task.ts";
import { workerResource } from "./fleet/worker.ts";
import { queueView } from "./jobs/insight.ts";
import { jobResource, jobStatus } from "./jobs/job.ts";
import { killswitchResource } from "./killswitch.ts";
import { scheduleResource } from "./schedule.ts";
import { count, instant } from "./words/field.ts";

/** Most resources in one frame. If there are more, the viewer gets their number and reads the pages from the API. */
export const MAX_LIVE_RESOURCES = 200;
/** A snapshot has the newest jobs, and a larger fleet's first workers: as many as a page of their lists. */
export const MAX_SNAPSHOT_RESOURCES = 50;

const counts = z
  .record(jobStatus, count)
  .meta({ description: "jobs by status: open jobs now, final jobs of all time" });

const promptStart = {
  prompt_start: z.string().meta({ description: "the first 200 characters of the prompt" }),
};
/** A job in the live view, without its long values; the job's own page reads those. */
export const liveJob = jobResource
  .omit({ prompt: true, input: true, result: true, truncated: true })
  .extend(promptStart);
/** A schedule likewise: two hundred of them are sent whenever one changes. */
const liveSchedule = scheduleResource.omit({ prompt: true, input: true }).extend(promptStart);

const removedModels = z
  .object({
    provider: z.string(),
    models_in_use: z.array(z.string()),
    waiting_jobs: count,
    workers: z.array(z.string()),
    schedules: z.array(z.string()),
  })
  .meta({
    description:
      "models that are no longer in the provider's catalog, and the workers and schedules that still name them",
  });

const budgetReached = z.object({
  period: z.enum(["day", "month"]),
  limit_usd: z.number(),
  spent_usd: z.number(),
  resets_at: instant,
});

const costState = { today_usd: z.number(), budget_reached: budgetReached.nullable() };
const storageState = {
  storage_warnings: z
    .array(z.string())
    .meta({ description: "what fills up, as a sentence each; empty if nothing does" }),
  pruned: z.partialRecord(jobStatus, count).meta({ description: "how many of `counts` have left history" }),
};
const catalogState = { removed_models: z.array(removedModels) };

/** What happened to jobs in the minute that starts at `at`; minutes without events are left out. */
const activityMinute = z.object({ at: instant, created: count, completed: count, failed: count, cancelled: count });

/** A provider's workers. Each counts once: as offline, else paused, else unavailable, else with its places. */
const providerFleet = z.object({
  provider: z.string(),
  workers: count,
  offline: count,
  paused: count,
  unavailable: count,
  places: count,
  load: count.meta({ description: "how many of the places are in use" }),
});

const numbered = {
  seq: count.meta({ description: "one more than that of the message before; after a gap, connect again" }),
};

export const liveMessage = z
  .discriminatedUnion("type", [
    z.object({
      type: z.literal("snapshot"),
      ...numbered,
      server_time: instant,
      jobs: z.array(liveJob),
      workers: z.array(workerResource),
      workers_total: count,
      fleet: z.array(providerFleet).meta({ description: "all workers, summed up by provider" }),
      schedules: z.array(liveSchedule),
      killswitch: killswitchResource,
      counts,
      queue: queueView,
      minutes: z.array(activityMinute).meta({ description: "minutes of the last hour" }),
      ...costState,
      ...catalogState,
      ...storageState,
    }),
    z.object({ type: z.literal("job.updated"), ...numbered, job: liveJob, counts }),
    z.object({ type: z.literal("worker.updated"), ...numbered, worker: workerResource }),
    z.object({ type: z.literal("worker.forgotten"), ...numbered, instance: z.string() }),
    z.object({ type: z.literal("model_task.updated"), ...numbered, task: modelTaskResource }),
    z.object({ type: z.literal("fleet.updated"), ...numbered, fleet: z.array(providerFleet) }),
    z.object({ type: z.literal("killswitch.updated"), ...numbered, killswitch: killswitchResource }),
    z.object({ type: z.literal("schedule.updated"), ...numbered, schedules: z.array(liveSchedule) }),
    z.object({ type: z.literal("catalog.updated"), ...numbered, ...catalogState }),
    z.object({ type: z.literal("cost.updated"), ...numbered, ...costState }),
    z.object({ type: z.literal("storage.updated"), ...numbered, ...storageState }),
    z.object({ type: z.literal("queue.updated"), ...numbered, queue: queueView }),
    z.object({
      type: z.literal("activity.updated"),
      ...numbered,
      minutes: z.array(activityMinute).meta({ description: "this minute and the one before" }),
    }),
  ])
  .meta({ id: "LiveMessage" });

export type NumberedLiveMessage = z.infer<typeof liveMessage>;
type Unnumbered<Message> = Message extends unknown ? Omit<Message, "seq"> : never;
/** A message without its `seq`, which is counted for each viewer. */
export type LiveMessage = Unnumbered<NumberedLiveMessage>;
export type ProviderFleet = z.infer<typeof providerFleet>;
export type ActivityMinute = z.infer<typeof activityMinute>;
export type LiveJob = z.infer<typeof liveJob>;
export type LiveSchedule = z.infer<typeof liveSchedule>;
