// How many bytes a job takes: in its tenant's object and in D1 while it is open, and after it has left the object.
// Counted in the files of a stopped server.

import path from "node:path";
import { figure } from "../figures.ts";
import { connectFinishers, createJobs } from "../finished-jobs.ts";
import type { Bench, Scale } from "../plan.ts";
import { untilQuiet } from "../quiet.ts";
import { createTenant, drainHistory, SOCKET_TAG, startSignalbox, type Tenant } from "../signalbox.ts";
import { type Stored, storedBelow } from "../stored-bytes.ts";
import { PROMPT } from "../workplace.ts";

const JOBS: Readonly<Record<Scale, number>> = { quick: 2_000, usual: 20_000, full: 100_000 };
const SHOWN_TABLES = 5;
const JOB = { prompt: PROMPT, tags: [SOCKET_TAG] };

export async function storage({ folder, scale, say }: Bench): Promise<void> {
  const count = JOBS[scale];
  const dataDir = path.join(folder, "storage");
  const tenant = await session(dataDir, async (port) => createTenant(port));
  const empty = read(dataDir);
  await session(dataDir, async (port) => {
    await createJobs({ ...tenant, port }, count, JOB);
    await drainHistory({ ...tenant, port });
  });
  const open = read(dataDir);
  await session(dataDir, (port, settled) => finishAll({ ...tenant, port }, count, settled));
  const done = read(dataDir);
  const left = done.object.byTable.get("jobs") ?? 0;
  if (left > (empty.object.byTable.get("jobs") ?? 0)) throw new Error(`${left} bytes of final jobs are in the object`);
  const say1 = (what: string, before: Stored, now: Stored) =>
    say(
      figure({
        part: "storage",
        what: `${count} jobs: ${what}`,
        unit: "B/job",
        signalbox: (now.usedBytes - before.usedBytes) / count,
        note: largest(before, now, count),
      }),
    );
  say1("an open one, in the object", empty.object, open.object);
  say1("an open one, in D1", empty.history, open.history);
  say1("one that is done, in the object", empty.object, done.object);
  say1("one that is done, in D1", empty.history, done.history);
  const fileBytes = (done.object.fileBytes - empty.object.fileBytes) / count;
  const note = "free pages, used again by the next jobs";
  say(
    figure({
      part: "storage",
      what: `${count} jobs: all done, the object's file`,
      unit: "B/job",
      signalbox: fileBytes,
      note,
    }),
  );
}

const read = (dataDir: string) => ({
  object: storedBelow(path.join(dataDir, "state", "objects")),
  history: storedBelow(path.join(dataDir, "state", "d1")),
});

/** A server that runs while the work runs. */
async function session<T>(
  dataDir: string,
  work: (port: number, settled: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const served = await startSignalbox(dataDir);
  try {
    return await work(served.port, () => untilQuiet(served));
  } finally {
    await served.stop();
  }
}

async function finishAll(tenant: Tenant, count: number, settled: () => Promise<void>): Promise<void> {
  const workers = await connectFinishers(tenant);
  await workers.settleTo(count, 0);
  await drainHistory(tenant);
  workers.close();
  // Ten seconds after its end, once history has it, a job leaves the object.
  await settled();
}

const largest = (before: Stored, now: Stored, count: number): string =>
  [...now.byTable]
    .map(([name, bytes]) => [name, (bytes - (before.byTable.get(name) ?? 0)) / count] as const)
    .filter(([, bytes]) => bytes >= 1)
    .sort(([, one], [, other]) => other - one)
    .slice(0, SHOWN_TABLES)
    .map(([name, bytes]) => `${name} ${Math.round(bytes)}`)
    .join(", ");
