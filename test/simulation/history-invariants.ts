// What D1 must hold: all that has left the object, and everything once the outbox is empty.

import type { Job } from "../../domain/job.ts";
import { isFinal } from "../../domain/job-status.ts";
import { TENANT } from "./shell.ts";
import type { Snapshot } from "./snapshot.ts";
import type { World } from "./world.ts";

const resultIn = ({ shell }: World, id: string): string => {
  const [row] = shell.history.rows("SELECT result FROM results WHERE tenant = ? AND job_id = ?", TENANT, id);
  return (row?.result as string | undefined) ?? "null";
};

/** Changes that history does not hear of. */
const projected = ({
  heartbeatAt: _beat,
  progress: _progress,
  orderKey: _place,
  readyAt: _ready,
  delayedBy: _delay,
  ...rest
}: Job) => JSON.stringify(Object.entries(rest).sort());

const differenceOf = (world: World, job: Job): string | null => {
  const archived = world.archived(job.id);
  if (archived === null) return `job ${job.id} is not in history`;
  if (projected(archived.job) !== projected(job))
    return `job ${job.id} is ${job.status} (version ${job.version}), and in history ${archived.job.status} (version ${archived.job.version})`;
  const accepted = world.model.accepted.get(job.id);
  if (accepted !== undefined && archived.prompt !== accepted) return `history has another prompt for job ${job.id}`;
  if (job.status !== "completed") return null;
  const report = (JSON.parse(resultIn(world, job.id)) as { report: number } | null)?.report;
  return report !== undefined && world.model.reports[report]?.lease === job.lease
    ? null
    : `history lost the result of job ${job.id}`;
};

export const historyKeepsWhatLeft = (_before: Snapshot, now: Snapshot, world: World): string | null => {
  const left = [...world.model.seen].filter(([id]) => !now.jobs.has(id));
  const state = `${world.shell.history.appliedCount} ${left.length}`;
  if (state === world.model.comparedLeft) return null;
  world.model.comparedLeft = state;
  for (const [id, { job }] of left) {
    // Between two looks it may have gone on, and left.
    const last = world.archived(id)?.job ?? job;
    if (last.version < job.version)
      return `history has version ${last.version} of job ${id}, which left at ${job.version}`;
    if (!isFinal(last.status)) return `job ${id} is ${last.status}, and has left the object`;
    const difference = differenceOf(world, last.version === job.version ? job : last);
    if (difference !== null) return `${difference}, and it has left the object`;
    world.model.seen.set(id, { job: last, isHere: false });
  }
  return null;
};

export const checkHistory = (_before: Snapshot, now: Snapshot, world: World): string | null => {
  const state = `${world.shell.history.appliedCount} ${now.drainedSeq}`;
  if (now.outboxCount > 0 || state === world.model.comparedHistory) return null;
  world.model.comparedHistory = state;
  for (const { job } of now.jobs.values()) {
    const difference = differenceOf(world, job);
    if (difference !== null) return difference;
    if (resultIn(world, job.id) !== (now.results.get(job.id) ?? "null"))
      return `history has another result for job ${job.id}`;
  }
  return eventsAgree(world) ?? attemptsAgree(world);
};

const eventsAgree = ({ model, shell }: World): string | null => {
  const rows = shell.history.rows("SELECT job_id, version, type FROM events WHERE tenant = ?", TENANT);
  if (rows.length !== model.events.size) return `history has ${rows.length} events, and ${model.events.size} were told`;
  for (const row of rows) {
    const key = `${row.job_id}/${row.version}`;
    if (model.events.get(key) !== row.type) return `history has event ${key} as ${row.type}`;
  }
  return null;
};

const attemptsAgree = ({ model, shell }: World): string | null => {
  const rows = shell.history.rows("SELECT job_id, lease, nano_usd FROM attempts WHERE tenant = ?", TENANT);
  if (rows.length !== model.attempts.size) return `history has ${rows.length} attempts, not ${model.attempts.size}`;
  const total = rows.reduce((sum, row) => sum + ((row.nano_usd as number | null) ?? 0), 0);
  const [hours] = shell.history.rows(
    "SELECT COALESCE(SUM(nano_usd), 0) AS nano_usd, COALESCE(SUM(jobs), 0) AS jobs FROM cost_hours WHERE tenant = ?",
    TENANT,
  );
  if (hours?.nano_usd !== total) return `the hours of history add up to ${hours?.nano_usd}, its attempts to ${total}`;
  const jobs = new Set(rows.map((row) => row.job_id)).size;
  return hours?.jobs === jobs ? null : `the hours of history count ${hours?.jobs} jobs, and there are ${jobs}`;
};
