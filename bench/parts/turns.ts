// Fair turns: a worker's claims and results while jobs of ten flows wait, and of ten thousand.

import type { Connection } from "../connection.ts";
import { interleaved } from "../load.ts";
import type { Bench } from "../plan.ts";
import { callEach, createTenant, drainHistory, type Tenant } from "../signalbox.ts";
import { BATCH_JOBS, PROMPT } from "../workplace.ts";
import { relative } from "./depth.ts";

const FLOWS = [10, 10_000];
const WAITING_JOBS = 20_000;
const WORKERS = 16;

interface Lease {
  readonly id: string;
  readonly lease: number;
}

const fill = async (tenant: Tenant, flows: number): Promise<void> => {
  await callEach(tenant, WAITING_JOBS / BATCH_JOBS, (connection, call) => {
    const jobs = Array.from({ length: BATCH_JOBS }, (_, job) => ({
      prompt: PROMPT,
      fairness_key: `flow-${(call * BATCH_JOBS + job) % flows}`,
    }));
    return connection.call("POST", "/api/jobs/batch", { jobs });
  });
  await drainHistory(tenant);
};

const workOnce = async (connection: Connection, instance: string): Promise<number> => {
  const { jobs } = (await connection.call("POST", `/api/workers/${instance}/claim`, {})) as { jobs: Lease[] };
  for (const { id, lease } of jobs)
    await connection.call("POST", `/api/jobs/${id}/complete`, { lease, result: "done" });
  return jobs.length;
};

/** Jobs a second, of workers that claim and complete. */
const work = async (tenant: Tenant, measureMs: number): Promise<number> => {
  const startedAt = performance.now();
  let done = 0;
  await callEach(tenant, WORKERS, async (connection, index) => {
    const instance = `worker-${index}`;
    await connection.call("POST", "/presence", { instance, provider: "bench", status: "idle", tags: "" });
    while (performance.now() - startedAt < measureMs) {
      // Read after the wait: the others have added to it meanwhile.
      const more = await workOnce(connection, instance);
      done += more;
    }
  });
  return (done * 1000) / (performance.now() - startedAt);
};

export const turns = async ({ signalbox: { port }, pace, say }: Bench): Promise<void> => {
  const tenants: Tenant[] = [];
  for (const flows of FLOWS) {
    const tenant = await createTenant(port);
    await fill(tenant, flows);
    tenants.push(tenant);
  }
  for (const tenant of tenants) await work(tenant, pace.warmUpMs);
  const rates = await interleaved(
    pace.rounds,
    tenants.map((tenant) => () => work(tenant, pace.measureMs)),
  );
  for (const [index, flows] of FLOWS.entries()) {
    const rate = { part: "turns", what: `${flows} flows wait`, signalbox: rates[index] ?? 0 };
    say({ ...relative(rate, rates[0] ?? 0, "to ten"), clients: WORKERS });
  }
};
