// The steps of a job's life as tests take them over HTTP, and the passing of time for a job.

import { evictDurableObject } from "cloudflare:test";
import { ageJob, type Body, type World } from "./client.ts";

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
