// How many bytes a job takes: in its tenant's object and in D1 while it is open, and after it has left the object; with
// long texts also when they are compressed, and in the archive. Counted in the files of a stopped server.

import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { figure } from "../figures.ts";
import { ageHistory, historyOfServer } from "../history/aged-history.ts";
import { connectFinishers, createJobs } from "../history/finished-jobs.ts";
import { promptsOf } from "../history/real-text.ts";
import { untilQuiet } from "../measure/quiet.ts";
import { bytesBelow, type Stored, storedBelow } from "../measure/stored-bytes.ts";
import type { Bench, Scale } from "../plan.ts";
import { callEach, createTenant, drainHistory, SOCKET_TAG, startSignalbox, type Tenant } from "../signalbox.ts";
import { PROMPT } from "../workplace.ts";

const JOBS: Readonly<Record<Scale, number>> = { quick: 2_000, usual: 20_000, full: 100_000 };
const LONG_JOBS: Readonly<Record<Scale, number>> = { quick: 400, usual: 2_000, full: 5_000 };
const LONG_CHARS = [200, 1_024, 4_096, 16_384, 32_768];
/** A call has at most 1 MiB. */
const CALL_CHARS = 800_000;
const HOUR_MS = 3_600_000;
const SHOWN_TABLES = 5;
const JOB = { prompt: PROMPT, tags: [SOCKET_TAG] };

export const storage = async (bench: Bench): Promise<void> => {
  await ofShortJobs(bench);
  for (const chars of LONG_CHARS) await ofLongJobs(bench, chars);
};

const ofLongJobs = async ({ folder, scale, say }: Bench, chars: number): Promise<void> => {
  const count = LONG_JOBS[scale];
  const dataDir = path.join(folder, `storage-${chars}`);
  const promptOf = promptsOf(chars);
  const tenant = await session(dataDir, async (port) => createTenant(port));
  const empty = read(dataDir).history;
  await session(dataDir, async (port, settled) => {
    const here = { ...tenant, port };
    await callEach(here, 1, async (connection) => {
      await connection.call("PUT", "/config", { history: { keep_days: 30 } });
      const prompts = Array.from({ length: count }, (_, index) => promptOf(index));
      const each = Math.min(500, Math.floor(CALL_CHARS / chars));
      while (prompts.length > 0) {
        const jobs = prompts.splice(0, each).map((prompt) => ({ ...JOB, prompt }));
        await connection.call("POST", "/api/jobs/batch", { jobs });
      }
    });
    await finishAll(here, count, settled);
  });
  const say1 = (what: string, bytes: number, note: string): void =>
    say(
      figure({ part: "storage", what: `prompts of ${chars}: ${what}`, unit: "B/job", signalbox: bytes / count, note }),
    );
  const inHistory = (what: string): void => {
    const now = read(dataDir).history;
    say1(what, now.usedBytes - empty.usedBytes, largest(empty, now, count));
  };
  inHistory("as written, in D1");
  ageHistory(dataDir, 2 * HOUR_MS);
  await minutePassed(dataDir, IS_PACKED, tenant);
  inHistory("an hour later, in D1");
  ageHistory(dataDir, 40 * 24 * HOUR_MS);
  await minutePassed(dataDir, IS_ARCHIVED, tenant);
  say1("archived", bytesBelow(path.join(dataDir, "archive")), "gzip, with events and attempts");
};

const IS_PACKED = `SELECT packed_until >= (SELECT MAX(finished_at) FROM jobs WHERE jobs.tenant = tenants.tenant) AS is_done
  FROM tenants WHERE tenant = ?`;
const IS_ARCHIVED = "SELECT COUNT(*) = 0 AS is_done FROM jobs WHERE tenant = ?";

/** A server until its minute's work has done what is asked for. */
const minutePassed = async (dataDir: string, sql: string, { name }: Tenant): Promise<void> => {
  await session(
    dataDir,
    async () => {
      const history = historyOfServer(dataDir);
      while (history.prepare(sql).get(name)?.is_done !== 1) await pause(100);
      history.close();
    },
    { SERVICE_ARCHIVE: "1" },
  );
};

const ofShortJobs = async ({ folder, scale, say }: Bench): Promise<void> => {
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
};

const read = (dataDir: string) => ({
  object: storedBelow(path.join(dataDir, "state", "objects")),
  history: storedBelow(path.join(dataDir, "state", "d1")),
});

/** A server that runs while the work runs. */
const session = async <T>(
  dataDir: string,
  work: (port: number, settled: () => Promise<void>) => Promise<T>,
  settings: Readonly<Record<string, string>> = {},
): Promise<T> => {
  const served = await startSignalbox(dataDir, undefined, [], settings);
  try {
    return await work(served.port, () => untilQuiet(served));
  } finally {
    await served.stop();
  }
};

const finishAll = async (tenant: Tenant, count: number, settled: () => Promise<void>): Promise<void> => {
  const workers = await connectFinishers(tenant);
  await workers.settleTo(count, 0);
  await drainHistory(tenant);
  workers.close();
  // Ten seconds after its end, once history has it, a job leaves the object.
  await settled();
};

const largest = (before: Stored, now: Stored, count: number): string =>
  [...now.byTable]
    .map(([name, bytes]) => [name, (bytes - (before.byTable.get(name) ?? 0)) / count] as const)
    .filter(([, bytes]) => bytes >= 1)
    .sort(([, one], [, other]) => other - one)
    .slice(0, SHOWN_TABLES)
    .map(([name, bytes]) => `${name} ${Math.round(bytes)}`)
    .join(", ");
