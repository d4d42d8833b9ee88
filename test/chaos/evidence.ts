// The server's state after the faults: every job, in the list and read alone, timelines, schedule runs, cost.

import type { JobEventResource, JobResource } from "../../contract/jobs/job.ts";
import type { ScheduleRunResource } from "../../contract/schedule.ts";
import type { History } from "./history.ts";
import { callUntilAnswered, type Stage } from "./stage.ts";

const PAGE = 200;
const READERS = 16;

export interface JobEvidence {
  /** The id that was acknowledged or listed. */
  readonly id: string;
  /** Null if the list, or the single read, does not have it. */
  readonly listed: JobResource | null;
  readonly read: JobResource | null;
  readonly events: readonly JobEventResource[];
}

export interface Evidence {
  readonly history: History;
  readonly jobs: ReadonlyMap<string, JobEvidence>;
  readonly runs: readonly ScheduleRunResource[];
  readonly spentNanoUsd: number;
}

export const gatherEvidence = async (stage: Stage, tags: readonly string[], schedule: string): Promise<Evidence> => {
  const listed = new Map<string, JobResource>();
  for (const filter of [...tags.map((tag) => `tag=${tag}`), `schedule=${schedule}`]) {
    for (const job of await pages<JobResource>(stage, `/api/jobs?${filter}`, "jobs")) listed.set(job.id, job);
  }
  const acknowledged = stage.history.of("create").flatMap(({ jobIds }) => jobIds ?? []);
  const ids = [...new Set([...listed.keys(), ...acknowledged])];
  const jobs = new Map<string, JobEvidence>();
  const reader = async (): Promise<void> => {
    for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
      jobs.set(id, { id, listed: listed.get(id) ?? null, ...(await readJob(stage, id)) });
    }
  };
  await Promise.all(Array.from({ length: READERS }, reader));
  const runs = await pages<ScheduleRunResource>(stage, `/api/schedules/${schedule}/history?`, "history");
  return { history: stage.history, jobs, runs, spentNanoUsd: await readCost(stage) };
};

const get = async (stage: Stage, path: string): Promise<unknown> => {
  const answer = await callUntilAnswered(stage, stage.smooth, { method: "GET", path });
  return answer?.status === 200 ? answer.body : null;
};

const pages = async <Item>(stage: Stage, path: string, field: string): Promise<Item[]> => {
  const items: Item[] = [];
  for (;;) {
    const page = (await get(stage, `${path}&limit=${PAGE}&offset=${items.length}`)) as Record<string, unknown> | null;
    if (page === null) throw new Error(`the list ${path} could not be read from ${items.length} on`);
    const found = page[field] as Item[];
    items.push(...found);
    if (found.length < PAGE) return items;
  }
};

const readJob = async (stage: Stage, id: string): Promise<Pick<JobEvidence, "read" | "events">> => {
  const read = (await get(stage, `/api/jobs/${id}`)) as JobResource | null;
  const timeline = (await get(stage, `/api/jobs/${id}/events`)) as { events: JobEventResource[] } | null;
  return { read, events: timeline?.events ?? [] };
};

/** Of this month and the previous one, because a run may span both. */
const readCost = async (stage: Stage): Promise<number> => {
  const cost = (await get(stage, "/api/cost?period=month")) as { total_usd: number; previous_total_usd: number } | null;
  return Math.round(((cost?.total_usd ?? 0) + (cost?.previous_total_usd ?? 0)) * 1e9);
};
