// The tenants in which something is about to happen when the server is killed: leases that lapse, a killswitch that
// holds, schedules that fall due, changes that history does not have.

import { type Client, configure } from "./client.ts";
import type { Expectations } from "./fixture.ts";
import { lease } from "./steady-tenant.ts";

/** Longer than the recording continues after the leases are taken, so that they are live when the server is killed. */
const LAPSE_SECONDS = 10;
const TICK_MS = 3_000;

const report = (admin: Client, instance: string) =>
  admin.post("/presence", { instance, provider: "p", status: "online", tags: "", concurrency: 5 });

/** An unstarted lease and a running one; both end a few seconds after the recording. */
export const makeLapsing = async (admin: Client): Promise<Expectations["lapsing"]> => {
  const ends = { accept_within_seconds: LAPSE_SECONDS, reap_stale_after_seconds: LAPSE_SECONDS };
  // No timeout: it would fail the job instead, if the fixture is read a quarter of an hour after its recording.
  await configure(admin, { jobs: { ...ends, timeout_seconds: null } });
  await report(admin, "w");
  const running = await lease(admin, "w", { prompt: "running", provider: "p" });
  await admin.post(`/api/jobs/${running.job}/start`, { lease: running.lease });
  const assigned = await lease(admin, "w", { prompt: "assigned", provider: "p" });
  return { key: admin.key, provider: "p", leases: [assigned, running] };
};

/** Level 2 over a running and a waiting job, with a worker that it paused and another that was paused before. */
export const makeHalted = async (admin: Client): Promise<Expectations["halted"]> => {
  await report(admin, "w");
  const lost = await lease(admin, "w", { prompt: "halted", provider: "p" });
  await admin.post(`/api/jobs/${lost.job}/start`, { lease: lost.lease });
  await report(admin, "by-hand");
  await admin.post("/api/workers/by-hand/pause", { reason: "by hand" });
  await admin.post("/api/schedules", { name: "tick", interval: "3s", prompt: "must not be made", provider: "q" });
  await admin.post("/killswitch", { level: 2, reason: "an upgrade drill" });
  const { id } = await admin.post("/api/jobs", { prompt: "queued under the killswitch", provider: "p" });
  const waiting = [lost.job, id];
  return { key: admin.key, provider: "p", lost, waiting, worker: "w", paused_by_hand: "by-hand", schedule: "tick" };
};

const SCHEDULES = [
  { name: "tick", interval: `${TICK_MS / 1000}s`, prompt: "tick", input: { n: 1 }, provider: "q", tags: ["cron"] },
  { name: "yearly", cron: "30 2 1 1 *", timezone: "Europe/Berlin", prompt: "happy new year", priority: "low" },
  { name: "paused", cron: "* * * * *", prompt: "never", overlap: "skip" },
];

/** A schedule that has run, when due and manually; a rare one, and a paused one. */
export const makeScheduled = async (admin: Client): Promise<void> => {
  for (const schedule of SCHEDULES) await admin.post("/api/schedules", schedule);
  await admin.call("PUT", "/api/schedules/paused", { status: "paused" });
  await admin.post("/api/schedules/tick/run");
};

/** Once the schedule has run by itself: what it was about to do next. */
export const readScheduled = async (admin: Client): Promise<Expectations["scheduled"]> => {
  for (;;) {
    const { history } = await admin.get("/api/schedules/tick/history?limit=200");
    const { next_run_at } = await admin.get("/api/schedules/tick");
    const runs = history.map(({ job_status: _, ...run }: { job_status: unknown }) => run);
    const isQuiet = Date.parse(next_run_at) - Date.now() > TICK_MS / 2;
    if (runs.length > 1 && isQuiet) {
      return { key: admin.key, name: "tick", interval_ms: TICK_MS, next_run_at, history: runs };
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS / 10));
  }
};

/** The last thing before the kill: accepted and completed, and not sent to history. */
export const makeUndrained = async (admin: Client): Promise<unknown> => {
  const { job, lease: number } = await lease(admin, "w", { prompt: "the last one", provider: "p" });
  return admin.post(`/api/jobs/${job}/complete`, { lease: number, result: "just in time", cost_usd: 0.5 });
};

export const prepareUndrained = (admin: Client) => report(admin, "w");
