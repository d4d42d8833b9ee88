// What the tests of the killswitch share: workers, jobs, and the call that stops them.

import { type Client, newWorld, type World } from "./client.ts";

export const offer = (instance: string, more: Record<string, unknown> = {}) => ({
  instance,
  status: "online",
  provider: "echo",
  tags: "",
  concurrency: 5,
  ...more,
});

export const dispatched = (world: World) => world.ok("POST", "/dispatch", { prompt: "hello" });

/** A worker with one running and one assigned job. */
export const busyWorld = async () => {
  const world = await newWorld();
  await world.ok("POST", "/presence", offer("w1"));
  const running = await dispatched(world);
  await world.ok("POST", `/api/jobs/${running.id}/start`, { lease: running.lease });
  const assigned = await dispatched(world);
  return { world, running, assigned };
};

export const engage = (client: Client, level: number, reason = "drill") =>
  client.ok("POST", "/killswitch", { level, reason });
export const typesOf = async (world: World, id: string): Promise<string[]> =>
  (await world.ok("GET", `/api/jobs/${id}/events`)).events.map((event: { type: string }) => event.type);
