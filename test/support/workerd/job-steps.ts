// The steps of a job's life as tests take them over HTTP, and the passing of time for a job.

import { evictDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import { ageJob, alarm, type Body, inStorage, type World } from "./client.ts";

export const present = (world: World, instance = "w", more: Record<string, unknown> = {}) =>
  world.ok("POST", "/presence", { instance, status: "online", provider: "openai", tags: "", concurrency: 50, ...more });
export const dispatch = (world: World, more: Record<string, unknown> = {}) =>
  world.ok("POST", "/dispatch", { prompt: "x", ...more });
export const get = (world: World, { id }: Body) => world.ok("GET", `/api/jobs/${id}`);
export const start = (world: World, job: Body) => world.ok("POST", `/api/jobs/${job.id}/start`, { lease: job.lease });
export const fail = (world: World, job: Body, error: Record<string, unknown>) =>
  world.ok("POST", `/api/jobs/${job.id}/fail`, { lease: job.lease, error: { message: "broke", ...error } });
export const events = async (world: World, { id }: Body): Promise<Body[]> =>
  (await world.ok("GET", `/api/jobs/${id}/events`)).events;
export const typesOf = async (world: World, job: Body) => (await events(world, job)).map((event) => event.type);

export const runningJob = async (world: World, more: Record<string, unknown> = {}) => {
  await present(world);
  return start(world, await dispatch(world, more));
};

export const age = async (world: World, { id }: Body, seconds: number) => {
  await ageJob(world, id, seconds * 1000, [
    "createdAt",
    "assignedAt",
    "startedAt",
    "heartbeatAt",
    "readyAt",
    "runAt",
    "updatedAt",
  ]);
  await evictDurableObject(world.stub);
};

/** Final jobs leave the object once history has them and their grace period is over. */
export const sendAway = async (world: World, ...ids: string[]): Promise<void> => {
  await world.ok("GET", "/api/jobs");
  for (const id of ids) await ageJob(world, id, 60_000, []);
  const leftAfterAlarm = async (): Promise<unknown[]> => {
    await alarm(world);
    const rows = await inStorage(world, (storage) => storage.sql.exec("SELECT id FROM jobs").toArray());
    return rows.map((row) => row.id).filter((id) => ids.includes(String(id)));
  };
  // The platform's own alarm may be running at this moment.
  await expect.poll(leftAfterAlarm).toEqual([]);
};
