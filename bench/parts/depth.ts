// Throughput while the queue has jobs that no worker can take: matching looks at groups, not at their jobs.

import { type Figure, figure } from "../figures.ts";
import { httpJobs, socketJobs } from "../jobs.ts";
import { interleaved, type Pace } from "../load.ts";
import type { Bench } from "../plan.ts";
import { callEach, createTenant, drainHistory, openSignalbox, type Tenant } from "../signalbox.ts";
import { BATCH_JOBS, PROMPT, type Workplace } from "../workplace.ts";
import { DISPATCH, THREE_CALLS } from "./jobs.ts";

const GROUPS = 100;
const CLIENTS = 32;

/** Jobs in a hundred requirement groups whose tags no worker offers. */
export const fillWithPending = async (tenant: Tenant, count: number): Promise<void> => {
  await callEach(tenant, Math.ceil(count / BATCH_JOBS), (connection, call) => {
    const jobs = Array.from({ length: Math.min(BATCH_JOBS, count - call * BATCH_JOBS) }, (_, job) => ({
      prompt: PROMPT,
      tags: [`nobody-${(call * BATCH_JOBS + job) % GROUPS}`],
    }));
    return connection.call("POST", "/api/jobs/batch", { jobs });
  });
  await drainHistory(tenant);
};

const WAYS: Readonly<Record<string, (place: Workplace, pace: Pace) => Promise<{ jobsPerSecond: number }>>> = {
  [THREE_CALLS]: (place, pace) => httpJobs([place], CLIENTS, pace),
  [DISPATCH]: (place, pace) => socketJobs([place], CLIENTS, pace, "dispatch"),
};

export const depth = async ({ signalbox: { port: signalboxPort }, pace, sizes, say }: Bench): Promise<void> => {
  const places: Workplace[] = [];
  for (const count of sizes.pendingJobs) {
    const tenant = await createTenant(signalboxPort);
    if (count > 0) await fillWithPending(tenant, count);
    places.push(await openSignalbox(signalboxPort, tenant));
  }
  for (const [what, measure] of Object.entries(WAYS)) {
    const rates = await interleaved(
      pace.rounds,
      places.map((place) => async () => (await measure(place, pace)).jobsPerSecond),
    );
    sizes.pendingJobs.forEach((count, index) => {
      const signalbox = rates[index] ?? 0;
      say(relative({ part: "depth", what: `${count} pending: ${what}`, signalbox }, rates[0] ?? 0, "to none pending"));
    });
  }
};

/** A figure whose ratio is to the smallest size of the same part instead of to the floor. */
export const relative = (
  given: Pick<Figure, "part" | "what" | "signalbox">,
  smallest: number,
  note: string,
): Figure => ({
  ...figure({ ...given, clients: CLIENTS, unit: "jobs/s" }),
  ratio: smallest === 0 ? null : (given.signalbox ?? 0) / smallest,
  note: `ratio ${note}`,
});
