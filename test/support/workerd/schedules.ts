// What the tests of schedules share.

import { type Body, inStorage, type World } from "./client.ts";

export const HOUR_MS = 3_600_000;

export const create = (world: World, body: Record<string, unknown>) =>
  world.post("/api/schedules", { name: "s", interval: "1h", prompt: "hello", ...body });

export const read = (world: World, name = "s") => world.ok("GET", `/api/schedules/${name}`);
export const history = async (world: World, name = "s"): Promise<Body[]> =>
  (await world.ok("GET", `/api/schedules/${name}/history`)).history;
export const jobsOf = async (world: World, name = "s"): Promise<Body[]> =>
  (await world.ok("GET", `/api/jobs?schedule=${name}`)).jobs;

/** As if the schedule had been created, and last run, that long ago. */
export const turnBack = (world: World, ms: number, name = "s") =>
  inStorage(world, (storage) => {
    const row = storage.sql.exec("SELECT record FROM schedules WHERE name = ?", name).one();
    const schedule = JSON.parse(row.record as string);
    for (const field of ["nextRunAt", "anchorAt", "createdAt"]) schedule[field] -= ms;
    if (schedule.lastRunAt !== null) schedule.lastRunAt -= ms;
    storage.sql.exec(
      "UPDATE schedules SET next_run_at = ?, record = ? WHERE name = ?",
      schedule.nextRunAt,
      JSON.stringify(schedule),
      name,
    );
    return schedule.nextRunAt as number;
  });
