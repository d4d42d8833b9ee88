// How many rows and index entries a job writes in its tenant's object and in history: what Cloudflare charges for. They
// do not depend on the machine.

import { Connection } from "../connection.ts";
import { figure } from "../figures.ts";
import { connectFinishers, createJobs } from "../history/finished-jobs.ts";
import type { Bench } from "../plan.ts";
import { createTenant, drainHistory, openSignalbox, SOCKET_TAG, type Tenant } from "../signalbox.ts";

const IN_BATCHES = 5_000;
const BY_CALLS = 500;
const PROMPT = "Summarise these words in one line. ".repeat(6).slice(0, 200);
const PLACES = ["object", "history"] as const;

type Written = Readonly<Record<(typeof PLACES)[number], number>>;

export const rows = async ({ signalbox, say }: Bench): Promise<void> => {
  const report = (what: string, { object, history }: Written): void => {
    say(figure({ part: "rows", what: `${what}: in its object`, unit: "rows/job", signalbox: object }));
    say(figure({ part: "rows", what: `${what}: in history`, unit: "rows/job", signalbox: history }));
    const usd = object + history;
    const note = "at 1 $ a million rows written, without requests and storage";
    say(figure({ part: "rows", what: `${what}: a million jobs`, unit: "$", signalbox: usd, note }));
  };
  report("jobs in batches, workers on sockets", await counted(signalbox.port, IN_BATCHES, inBatches));
  report("jobs by three calls each", await counted(signalbox.port, BY_CALLS, byCalls));
};

const counted = async (
  port: number,
  jobs: number,
  work: (tenant: Tenant, jobs: number) => Promise<void>,
): Promise<Written> => {
  const tenant = await createTenant(port);
  await drainHistory(tenant);
  const before = await writtenBy(tenant);
  await work(tenant, jobs);
  await drainHistory(tenant);
  const after = await writtenBy(tenant);
  return { object: (after.object - before.object) / jobs, history: (after.history - before.history) / jobs };
};

const inBatches = async (tenant: Tenant, jobs: number): Promise<void> => {
  const workers = await connectFinishers(tenant);
  await createJobs(tenant, jobs, { prompt: PROMPT, tags: [SOCKET_TAG] });
  await workers.settleTo(jobs, 0);
  workers.close();
};

const byCalls = async (tenant: Tenant, jobs: number): Promise<void> => {
  const place = await openSignalbox(tenant.port, tenant);
  await place.enrol(1);
  const connection = await Connection.open(tenant.port, tenant.authorization);
  for (let job = 0; job < jobs; job += 1) await place.threeCalls(connection, 0);
  connection.close();
};

const writtenBy = async ({ port, authorization }: Tenant): Promise<Written> => {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { headers: { authorization } });
  const text = await answer.text();
  const read = (place: string): number => {
    const found = new RegExp(`^signalbox_rows_written_total\\{place="${place}"\\} (\\d+)$`, "m").exec(text)?.[1];
    if (found === undefined) throw new Error(`/metrics does not say what was written to ${place}`);
    return Number(found);
  };
  return { object: read("object"), history: read("history") };
};
