// A server's archive from end to end: jobs grow old, stay while the folder fails, leave for it, and are read, exported
// and deleted there.

import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import { type Client, createClient } from "../../contract/client.ts";
import { SIGNALBOX } from "../support/command-line.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForEachTest } from "../support/temporary-folder.ts";
import { historyFile, use } from "../upgrade/databases.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const DAY_MS = 86_400_000;
/** As the runtime stores instants: nanoseconds, more than a number holds. */
const aMinuteAgo = (): string => `${Math.floor(Date.now() / 60_000) * 60 - 60}${"0".repeat(9)}`;
const SOON = { timeout: 20_000, interval: 100 };

const data = folderForEachTest();
let server: SelfHosted | null = null;

afterEach(async () => {
  await server?.kill();
});

const start = async (): Promise<SelfHosted> => {
  server = await startSelfHosted(data.path, { env: { SERVICE_ARCHIVE: "1", SERVICE_CATALOG_SYNC: "0" } });
  return server;
};

/** Stops the server, changes its history, and starts it with the minute's work due: the runtime keeps the time twice. */
const later = async (
  running: SelfHosted,
  change: (db: DatabaseSync) => void = () => undefined,
): Promise<SelfHosted> => {
  expect(await running.stop()).toBe(0);
  use(historyFile(data.path), change);
  const crons = path.join(data.path, "state", "cron", "Schedule");
  for (const name of readdirSync(crons).filter((file) => file.endsWith(".sqlite")))
    use(path.join(crons, name), (db) =>
      db.exec(
        name === "metadata.sqlite"
          ? `UPDATE _cf_ALARM SET scheduled_time = ${aMinuteAgo()}`
          : `UPDATE _cf_METADATA SET value = ${aMinuteAgo()} WHERE key = 1`,
      ),
    );
  return start();
};

const finish = async ({ jobs }: Client, prompt: string): Promise<string> => {
  const { id, lease } = await jobs.dispatch({ prompt });
  await jobs.complete(id, { lease, result: { said: prompt } });
  return id;
};

test("old jobs stay until the archive has them, and are read, exported and deleted there", async () => {
  const first = await start();
  const rootKey = readFileSync(path.join(data.path, "root.key"), "utf8").trim();
  const { admin_key: key } = await createClient({ url: first.url, key: rootKey }).tenants.create({ tenant: "acme" });
  const before = createClient({ url: first.url, key });
  await before.workers.report({ instance: "w", provider: "p", status: "online", tags: "", concurrency: 9 });
  await before.config.replace({ history: { keep_days: 30 } });
  const old = [await finish(before, "an old zebra"), await finish(before, "an old gnu")];
  const young = await finish(before, "a young zebra");
  expect((await before.jobs.list()).total).toBe(3);

  // What stands where the tenant's folder would be makes the archive fail.
  const folder = path.join(data.path, "archive", "acme");
  writeFileSync(folder, "in the way");
  const second = await later(first, (db) => {
    const age = db.prepare("UPDATE jobs SET finished_at = finished_at - ? WHERE id = ?");
    for (const id of old) age.run(40 * DAY_MS, id);
  });
  const failing = createClient({ url: second.url, key });
  await expect.poll(async () => (await failing.audit.list({ action: "archive.failing" })).total, SOON).toBe(1);
  expect((await failing.jobs.list()).total).toBe(3);
  expect((await failing.jobs.list({ archived: "true" })).jobs).toEqual([]);

  rmSync(folder);
  const third = await later(second);
  const { jobs, archive } = createClient({ url: third.url, key });
  const archived = async () => (await jobs.list({ archived: "true" })).jobs.map(({ id }) => id);
  await expect.poll(archived, SOON).toEqual([...old].reverse());
  expect((await jobs.list()).jobs.map(({ id }) => id)).toEqual([young]);
  for (const [id, prompt] of [
    [old[0] ?? "", "an old zebra"],
    [old[1] ?? "", "an old gnu"],
  ] as const)
    await expect
      .poll(() => jobs.get(id), SOON)
      .toMatchObject({ status: "completed", archived: true, prompt, result: { said: prompt } });
  expect((await jobs.list({ archived: "true", q: "zebra" })).jobs).toMatchObject([{ id: old[0] }]);

  const {
    days: [day],
  } = await archive.days();
  expect(day).toMatchObject({ jobs: 2, parts: 1 });
  const target = path.join(data.path, "day.ndjson.gz");
  const args = [SIGNALBOX, "archive", "export", day?.day ?? "", "--output", target];
  const env = { ...process.env, SERVICE_API_URL: third.url, SERVICE_API_KEY: key };
  await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
  const lines = gunzipSync(readFileSync(target)).toString().trim().split("\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject(old.map((id) => ({ id, result: expect.anything() })));

  expect(readdirSync(folder)).toEqual([day?.day]);
  const [part = ""] = readdirSync(path.join(folder, day?.day ?? ""));
  writeFileSync(path.join(folder, day?.day ?? "", part), "spoilt");
  const damaged = { jobs: [], damaged_parts: [`${day?.day}/${part}`] };
  expect(await jobs.list({ archived: "true" })).toMatchObject(damaged);
  await expect(jobs.get(old[0] ?? "")).rejects.toMatchObject({ status: 503, code: "archive_damaged" });

  await createClient({ url: third.url, key: rootKey }).tenants.remove("acme");
  expect(existsSync(folder)).toBe(false);
}, 90_000);
