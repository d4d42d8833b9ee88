// Throughput with many registered workers: jobs for a few of them, and jobs that all of them may take.

import type { Connection } from "../connection.ts";
import { httpJobs } from "../jobs.ts";
import { interleaved, type Pace, throughput } from "../load.ts";
import type { Bench } from "../plan.ts";
import { callEach, createTenant, drainHistory, openSignalbox, type Tenant } from "../signalbox.ts";
import { PROMPT, RESULT } from "../workplace.ts";
import { relative } from "./depth.ts";

const CLIENTS = 32;
const TAGS = 40;
const PROVIDERS = 20;
const CONCURRENCY = 4;
/** Long enough that workers registered once stay online for the whole run. */
const OFFLINE_AFTER_SECONDS = 86_400;

/** Workers that differ in tags and providers, all online and idle. */
export const register = async (tenant: Tenant, count: number): Promise<void> => {
  await callEach(tenant, 1, (connection) =>
    connection.call("PUT", "/config", { presence: { offline_after_seconds: OFFLINE_AFTER_SECONDS } }),
  );
  await callEach(tenant, count, (connection, index) =>
    connection.call("POST", "/presence", {
      instance: `fleet-${index}`,
      provider: `provider-${index % PROVIDERS}`,
      tags: `tag-${index % TAGS},tag-${(index * 7 + 1) % TAGS},site-${index % 3}`,
      concurrency: CONCURRENCY,
    }),
  );
};

/** Every worker matches; the client of the worker that got the job completes it. */
const wideJob = async (connection: Connection): Promise<void> => {
  const job = await connection.call("POST", "/dispatch", { prompt: PROMPT });
  const { id, lease } = job as { id: string; lease: number };
  await connection.call("POST", `/api/jobs/${id}/complete`, { lease, result: RESULT });
};

const wideJobs = async (tenant: Tenant, pace: Pace): Promise<number> => {
  const { port, authorization } = tenant;
  const load = { clients: CLIENTS, port, authorizationOf: () => authorization, step: wideJob };
  const rate = await throughput(load, pace);
  await drainHistory(tenant);
  return rate;
};

export const fleet = async ({ signalbox: { port: signalboxPort }, pace, sizes, say }: Bench): Promise<void> => {
  const tenants: Tenant[] = [];
  for (const count of sizes.workers) {
    const tenant = await createTenant(signalboxPort);
    await register(tenant, count);
    tenants.push(tenant);
  }
  const ways = {
    "jobs for one worker each": async (tenant: Tenant) => {
      const place = await openSignalbox(signalboxPort, tenant);
      return (await httpJobs([place], CLIENTS, pace)).jobsPerSecond;
    },
    "jobs that every worker may take": (tenant: Tenant) => wideJobs(tenant, pace),
  };
  // The wide jobs first, because the other way registers more workers.
  for (const [what, measure] of Object.entries(ways).reverse()) {
    const rates = await interleaved(
      pace.rounds,
      tenants.map((tenant) => () => measure(tenant)),
    );
    sizes.workers.forEach((count, index) => {
      const note = `to ${sizes.workers[0]} workers`;
      say(
        relative(
          { part: "fleet", what: `${count} workers: ${what}`, signalbox: rates[index] ?? 0 },
          rates[0] ?? 0,
          note,
        ),
      );
    });
  }
};
