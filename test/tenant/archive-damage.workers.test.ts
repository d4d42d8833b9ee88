// A part of the archive that is lost or spoilt costs its own jobs and no others, and is named.

import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { writeLogTo } from "../../log/log.ts";
import { app } from "../../src/app.ts";
import type { Env } from "../../src/env.ts";
import { type ArchivedLine, dayOfId, keyOf, packPart } from "../../src/history/archive/part.ts";
import { type ArchiveStore, archiveOf } from "../../src/history/archive/store.ts";
import { digestOf } from "../../src/http/key-format.ts";
import { type Body, newWorld, ORIGIN, type World } from "../support/workerd/client.ts";

const { TEST_ARCHIVE: bucket } = env as unknown as { TEST_ARCHIVE: R2Bucket };
const withArchive = { ...env, ARCHIVE: bucket, SERVICE_LOG: "json" } as unknown as Env;
const store = archiveOf(withArchive) as ArchiveStore;
const CONTEXT = { waitUntil: () => undefined, passThroughOnException: () => undefined, props: {} };

const ask = async (
  world: World,
  path: string,
  { method = "GET", to = withArchive }: { method?: string; to?: Env } = {},
): Promise<{ status: number; retryAfter: string | null; body: Body }> => {
  const request = new Request(`${ORIGIN}${path}`, { method, headers: { authorization: `Bearer ${world.key}` } });
  const answer = await app.fetch(request, to, CONTEXT as unknown as ExecutionContext);
  const isJson = answer.headers.get("content-type")?.includes("json");
  const body = isJson ? await answer.json() : await answer.arrayBuffer();
  return { status: answer.status, retryAfter: answer.headers.get("retry-after"), body };
};

/** Of one day, in the order of `n`. */
const idOf = (n: number): string => `019c2000-000${n}-7000-8000-000000000000`;
const DAY = dayOfId(idOf(1)) ?? "";
const LIST = "/api/jobs?archived=true";

interface Part {
  readonly key: string;
  /** As it is told. */
  readonly said: string;
}

const recordPart = async (world: World, name: string, ids: readonly string[], text = "an old zebra"): Promise<Part> => {
  const { id } = await world.ok("POST", "/api/jobs", { prompt: "an old zebra" });
  const job = await world.ok("POST", `/api/jobs/${id}/cancel`);
  const rest = { archived: true, version: 1, key_id: null, events: [], attempt_list: [] } as const;
  const bytes = await packPart(ids.map((one): ArchivedLine => ({ ...job, ...rest, prompt: text, id: one })));
  const key = keyOf(world.tenant, { day: DAY, name });
  await store.put(key, bytes);
  await env.DB.prepare("INSERT INTO archive_parts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
    .bind(world.tenant, DAY, name, ids[0], ids.at(-1), ids.length, bytes.length, await digestOf(bytes))
    .run();
  return { key, said: `${DAY}/${name}` };
};

const half = async (key: string): Promise<void> => {
  const whole = (await store.get(key)) ?? new Uint8Array();
  await store.put(key, whole.slice(0, whole.length / 2));
};
const DAMAGES = [
  ["is missing", (key: string) => store.remove(key)],
  ["is cut off", half],
  ["is something else", (key: string) => store.put(key, new Uint8Array(99))],
] as const;

let logged: string[] = [];
beforeEach(() => {
  logged = [];
  writeLogTo({ log: () => undefined, warn: (line) => logged.push(line), error: (line) => logged.push(line) });
});
afterEach(() => writeLogTo(console));

describe.each(DAMAGES)("a part of the archive that %s", (_what, damage) => {
  it("is left out of lists, which go on without it and name it, once in the log, too", async () => {
    const world = await newWorld();
    const parts = [await recordPart(world, "a", [idOf(1)]), await recordPart(world, "b", [idOf(2)])];
    await recordPart(world, "c", [idOf(3)]);
    expect((await ask(world, LIST)).body).not.toHaveProperty("damaged_parts");
    await damage(parts[1]?.key ?? "");
    const { status, body } = await ask(world, LIST);
    expect([status, body.jobs.map((job: Body) => job.id)]).toEqual([200, [idOf(3), idOf(1)]]);
    expect([body.damaged_parts, body.next_cursor]).toEqual([[parts[1]?.said], null]);
    const told = logged.filter((line) => line.includes("archive.damaged"));
    expect(told).toEqual([expect.stringContaining(parts[1]?.said ?? "?")]);
    const paged = await ask(world, `${LIST}&limit=1`);
    const next = await ask(world, `${LIST}&limit=1&cursor=${paged.body.next_cursor}`);
    expect([paged, next].map((page) => page.body.jobs[0].id)).toEqual([idOf(3), idOf(1)]);
  });

  it("is named where a job of it is asked for", async () => {
    const world = await newWorld();
    const part = await recordPart(world, "a", [idOf(1), idOf(3)]);
    await recordPart(world, "b", [idOf(2)]);
    await damage(part.key);
    const refused = {
      status: 503,
      retryAfter: null,
      body: { code: "archive_damaged", detail: expect.stringContaining(part.said) },
    };
    for (const path of ["", "/events", "/attempts"])
      expect(await ask(world, `/api/jobs/${idOf(1)}${path}`)).toMatchObject(refused);
    expect(await ask(world, `/api/jobs/${idOf(1)}/retry`, { method: "POST" })).toMatchObject(refused);
    // Another part has it, and none can have it.
    expect((await ask(world, `/api/jobs/${idOf(2)}`)).status).toBe(200);
    expect((await ask(world, `/api/jobs/${idOf(4)}`)).status).toBe(404);
  });

  it("is named where its day is exported, whichever of the day's parts it is", async () => {
    const world = await newWorld();
    const parts: Part[] = [];
    for (let n = 1; n < 9; n += 1) parts.push(await recordPart(world, `p${n}`, [idOf(n)]));
    expect((await ask(world, `/api/archive/${DAY}`)).status).toBe(200);
    await damage(parts[7]?.key ?? "");
    expect(await ask(world, `/api/archive/${DAY}`)).toMatchObject({
      status: 503,
      body: { code: "archive_damaged", detail: expect.stringContaining(parts[7]?.said ?? "?") },
    });
  });
});

it("an archive that does not answer is no damage: lists, jobs and exports are refused for a time", async () => {
  const world = await newWorld();
  await recordPart(world, "a", [idOf(1)]);
  const away = { get: () => Promise.reject(new Error("away")) };
  for (const path of [LIST, `/api/jobs/${idOf(1)}`, `/api/archive/${DAY}`])
    expect([path, await ask(world, path, { to: { ...withArchive, ARCHIVE: away } as unknown as Env })]).toMatchObject([
      path,
      { status: 503, retryAfter: "5", body: { code: "history_unavailable" } },
    ]);
});

/** An archive with what was read of it. */
const counted = (): { reads: string[]; to: Env } => {
  const reads: string[] = [];
  const get = (key: string) => {
    reads.push(key);
    return bucket.get(key);
  };
  return { reads, to: { ...withArchive, ARCHIVE: { get } } as unknown as Env };
};

it("an export reads a small day once; of a long one only what it does not keep is read again", async () => {
  const world = await newWorld();
  const small = [await recordPart(world, "a", [idOf(1)]), await recordPart(world, "b", [idOf(2)])];
  const once = counted();
  await ask(world, `/api/archive/${DAY}`, { to: once.to });
  expect(once.reads.sort()).toEqual(small.map(({ key }) => key));

  const noise = () => crypto.getRandomValues(new Uint8Array(60_000)).join("");
  const long = await recordPart(world, "c", [idOf(3)], Array.from({ length: 20 }, noise).join(""));
  const again = counted();
  const { body } = await ask(world, `/api/archive/${DAY}`, { to: again.to });
  expect(again.reads.sort()).toEqual([...small.map(({ key }) => key), long.key, long.key]);
  const stored = await Promise.all([...small, long].map(({ key }) => store.get(key)));
  expect(body.byteLength).toBe(stored.reduce((sum, bytes) => sum + (bytes?.byteLength ?? 0), 0));
});

it("a part that somebody compressed again is whole", async () => {
  const world = await newWorld();
  const { key } = await recordPart(world, "a", [idOf(1)]);
  const again = (await store.get(key)) ?? new Uint8Array();
  // The byte of a gzip file that says on which system it was made.
  again[9] = 255;
  await store.put(key, again);
  expect((await ask(world, `/api/archive/${DAY}`)).status).toBe(200);
  expect((await ask(world, LIST)).body.jobs).toHaveLength(1);
});
