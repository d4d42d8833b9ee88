// Operators: they change many jobs at once, give workers hours, and order models; workers carry the orders out.

import { MODEL_ACTIONS } from "../../../domain/fleet/machine.ts";
import type { Step, StepKind } from "../plan.ts";
import { oneOf, pickOf } from "../platform/random.ts";
import type { Action, World } from "../world.ts";

const MOST_AT_ONCE = 8;

/** Some of the latest jobs, wherever they are. */
const someJobs = ({ model }: World, [from, count]: Step["chances"]): string[] => {
  const ids = [...model.seen.keys()].slice(-40);
  const first = Math.floor(from * ids.length);
  return ids.slice(first, first + 1 + Math.floor(count * MOST_AT_ONCE));
};

/** As the edge does it: those that have left the object are read from history, and brought with a second portion. */
const changeMany: Action = async (world, chances) => {
  const { admin, model, shell } = world;
  const action = chances[2] < 0.5 ? "retry" : "cancel";
  const ids = someJobs(world, chances);
  if (action === "retry") for (const id of ids) model.retried.add(id);
  const first = await shell.call(admin, "changeJobs", { action, jobs: ids.map((id) => ({ id })) });
  if (!first?.ok) return;
  const { changed, refused, goneIds, absentAt } = first.value;
  const told = changed + goneIds.length + Object.values(refused).reduce((sum, count) => sum + count, 0);
  if (told !== ids.length) model.violate(`of ${ids.length} jobs to ${action} at once, ${told} were told of`);
  if (shell.history.weather === "down") return;
  const jobs = goneIds.flatMap((id) => {
    const archived = world.archived(id);
    return archived === null ? [] : [{ id, archived: { ...archived, absentAt } }];
  });
  if (jobs.length > 0) await shell.call(admin, "changeJobs", { action, jobs });
};

/** The run begins shortly before midnight, and before the clocks change. */
const HOURS = ["00:00-24:00", "23:52-00:05", "Sat 23:00-23:55; Sun 00:01-03:30", "01:00-02:30"] as const;

const giveHours: Action = async ({ admin, shell, workers }, [which, hours, zone]) => {
  await shell.call(admin, "setWorkerHours", {
    instance: pickOf(workers, which)?.instance ?? "nobody",
    hours: hours < 0.3 ? null : oneOf(HOURS, (hours - 0.3) / 0.7),
    timezone: zone < 0.6 ? "UTC" : "Europe/Berlin",
  });
};

const orderModel: Action = async ({ admin, shell, workers }, [which, action, model]) => {
  await shell.call(admin, "createModelTask", {
    instance: pickOf(workers, which)?.instance ?? "nobody",
    action: oneOf(MODEL_ACTIONS, action),
    model: model < 0.7 ? "m" : "other",
    keepAlive: null,
  });
};

interface TaskRow {
  readonly id: string;
  readonly worker: string;
}

const tasks = ({ shell }: World): TaskRow[] =>
  shell.disk.rows("SELECT id, worker FROM model_tasks").map((row) => ({
    id: row.id as string,
    worker: row.worker as string,
  }));

/** It goes on, ends or fails, is cancelled, or a worker reports on it that does not have it. */
const workOnModel: Action = async (world, [which, how, other]) => {
  const { admin, shell, workers } = world;
  const task = pickOf(tasks(world), which);
  if (task === undefined) return;
  const { id } = task;
  const worker = workers.find(({ instance }) => (other < 0.9 ? instance === task.worker : instance !== task.worker));
  const credential = worker?.credential ?? admin;
  if (how < 0.4) {
    const progress = {
      completedBytes: Math.floor(how * 1000),
      totalBytes: 400,
      bytesPerSecond: null,
      stage: "pulling",
    };
    await shell.call(credential, "progressModelTask", { id, progress });
  } else if (how < 0.8) {
    const error = how < 0.7 ? null : { code: "pull_failed", message: "no such model" };
    await shell.call(credential, "finishModelTask", { id, error });
  } else await shell.call(admin, "cancelModelTask", { id });
};

export const OPERATOR_ACTIONS = {
  "change many jobs": changeMany,
  "give a worker hours": giveHours,
  "order a model": orderModel,
  "work on a model": workOnModel,
} satisfies Partial<Record<StepKind, Action>>;
