// Long texts in history are compressed a while after their job's end, and nobody who reads them sees a difference.

import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { Allowance } from "../../domain/words/allowance.ts";
import { readLines } from "../../src/history/archive/lines.ts";
import { readHistoryTable } from "../../src/history/moving.ts";
import { packTexts } from "../../src/history/pack-texts.ts";
import { TenantHistory } from "../../src/history/tenant-history.ts";
import { meteredDatabase } from "../../src/metered-database.ts";
import { runMinute } from "../../src/minute.ts";
import { ageJob, alarm, type Body, newWorld, type World } from "../support/workerd/client.ts";

const HOUR_MS = 3_600_000;
const words = (what: string, chars: number): string =>
  Array.from({ length: chars }, (_, index) => `${what}${(index * 7919) % 997} 🦓 é`)
    .join(" ")
    .slice(0, chars);

const run = (world: World, queries = 250): Promise<void> => {
  const allowance = new Allowance({ queries, requests: queries });
  const isOurs = (tenant: string): boolean => tenant === world.tenant;
  return packTexts(meteredDatabase(env.DB, allowance), Date.now(), { isOurs, allowance });
};

/** A world with a worker; `finish` runs a job to its end and out of the object. */
const open = async () => {
  const world = await newWorld();
  await world.ok("POST", "/presence", { instance: "w", status: "online", provider: "p", tags: "", concurrency: 50 });
  const finish = async (body: Body, report: Body = { result: "short" }, verb = "complete"): Promise<string> => {
    const { id, lease } = await world.ok("POST", "/dispatch", body);
    await world.ok("POST", `/api/jobs/${id}/${verb}`, { lease, ...report });
    await ageJob(world, id, 60_000, ["finishedAt", "updatedAt"]);
    await world.ok("GET", "/api/jobs");
    await alarm(world);
    return id;
  };
  return { world, finish };
};

const age = (world: World, hours = 2): Promise<unknown> =>
  env.DB.prepare("UPDATE jobs SET finished_at = ?2 WHERE tenant = ?1")
    .bind(world.tenant, Date.now() - hours * HOUR_MS)
    .run();

const typesOf = async (world: World, id: string): Promise<Body> =>
  env.DB.prepare(
    `SELECT typeof(jobs.prompt) AS start, typeof(payloads.prompt) AS prompt, typeof(payloads.input) AS input, typeof(results.result) AS result,
       COALESCE(length(CAST(jobs.prompt AS BLOB)), 0) + COALESCE(length(CAST(payloads.prompt AS BLOB)), 0) + COALESCE(length(CAST(payloads.input AS BLOB)), 0)
         + COALESCE(length(CAST(results.result AS BLOB)), 0) AS bytes
     FROM jobs LEFT JOIN payloads ON payloads.tenant = jobs.tenant AND payloads.job_id = jobs.id
       LEFT JOIN results ON results.tenant = jobs.tenant AND results.job_id = jobs.id
     WHERE jobs.tenant = ?1 AND jobs.id = ?2`,
  )
    .bind(world.tenant, id)
    .first();

const LONG = {
  // What is beyond the 4,096 characters of its row begins with a character that decoders like to drop.
  prompt: `${"zebra ".padEnd(4_096, "a")}\uFEFF${words("p", 40_000)}`,
  input: { system: words("s", 9_000) },
};
const PACKED = { start: "blob", prompt: "blob", input: "blob", result: "blob" };

it("packs what is long, and reads, lists and finds the job as before", async () => {
  const { world, finish } = await open();
  const id = await finish(LONG, { result: { text: words("r", 5_000) } });
  const short = await finish({ prompt: "a short zebra", input: { a: 1 } });
  const middling = await finish({ prompt: `${words("m", 2_500)} zebra` });
  const onOnePage = await finish({ prompt: `${"zebra ".repeat(500)}` });
  const withRest = await finish({ prompt: `zebra ${words("m", 4_500)}` });
  await age(world);
  const history = new TenantHistory(env.DB, world.tenant);
  const read = async () => ({
    job: await world.ok("GET", `/api/jobs/${id}`),
    lists: await Promise.all(
      [0, 300, 1_999, 4_096, 4_100, 5_100, 9_100, 16_384].map((chars) =>
        world.ok("GET", `/api/jobs?max_chars=${chars}`),
      ),
    ),
    found: await world.ok("GET", "/api/jobs?q=zebra&max_chars=0"),
    lines: await readLines(history, [id, short, middling, withRest]),
    moved: await Promise.all(
      ["jobs", "payloads", "results"].map((table) =>
        readHistoryTable(history, { table, after: null, maxChars: 1_000_000 }),
      ),
    ),
  });
  const before = await read();
  expect(before.job).toMatchObject(LONG);
  expect(before.lists.at(-1)?.jobs[4]).toMatchObject({ input: LONG.input, truncated: ["prompt"] });
  expect(before.found.total).toBe(5);
  const plain = await typesOf(world, id);
  await run(world);
  const packed = await typesOf(world, id);
  expect(packed).toMatchObject(PACKED);
  expect(packed.bytes).toBeLessThan(plain.bytes / 3);
  expect(await typesOf(world, short)).toMatchObject({ start: "text", prompt: "null", input: "null", result: "null" });
  expect((await typesOf(world, middling)).start).toBe("blob");
  expect((await typesOf(world, onOnePage)).start).toBe("text");
  expect(await typesOf(world, withRest)).toMatchObject({ start: "blob", prompt: "text" });
  expect(await read()).toEqual(before);
  await world.ok("PUT", "/config", { history: { keep_texts_days: 1 } });
  await world.ok("GET", "/api/jobs");
  await age(world, 48);
  await runMinute(env);
  expect(await world.ok("GET", "/api/jobs?q=zebra")).toMatchObject({ jobs: [], total: 0 });
  expect((await typesOf(world, middling)).bytes).toBe(0);
});

it("leaves alone what gains too little, what is not yet old, and a tenant that moves", async () => {
  const { world, finish } = await open();
  // Random printable characters lose less than a fifth.
  const noise = [...crypto.getRandomValues(new Uint8Array(20_000))]
    .map((byte) => String.fromCharCode(35 + (byte % 90)).replace("\\", "!"))
    .join("");
  const id = await finish({ prompt: "x" }, { result: noise });
  const young = await finish({ prompt: "x" }, { result: words("r", 5_000) });
  const types = async () => [(await typesOf(world, id)).result, (await typesOf(world, young)).result];
  await run(world);
  expect(await types()).toEqual(["text", "text"]);
  await age(world);
  const away = (state: string | null) =>
    env.DB.prepare("UPDATE tenants SET away = ?2 WHERE tenant = ?1").bind(world.tenant, state).run();
  await away("leaving");
  await run(world);
  expect(await types()).toEqual(["text", "text"]);
  await away(null);
  await run(world);
  expect(await types()).toEqual(["text", "blob"]);
});

it("goes on where it stopped, also among jobs of one millisecond, and ends", async () => {
  const { world, finish } = await open();
  const ids: string[] = [];
  for (let index = 0; index < 4; index += 1)
    ids.push(await finish({ prompt: "x", input: { text: words("i", 150_000) } }, { result: words("r", 300_000) }));
  await age(world);
  const packed = async () => {
    const types = await Promise.all(ids.map((id) => typesOf(world, id)));
    return types.filter(({ input, result }) => input === "blob" && result === "blob").length;
  };
  // Room for one step.
  await run(world, 16);
  expect(await packed()).toBe(2);
  await run(world);
  expect(await packed()).toBe(4);
  const { packed_until: until } = (await env.DB.prepare("SELECT packed_until FROM tenants WHERE tenant = ?1")
    .bind(world.tenant)
    .first()) as Body;
  await run(world);
  expect(await env.DB.prepare("SELECT packed_until FROM tenants WHERE tenant = ?1").bind(world.tenant).first()).toEqual(
    {
      packed_until: until,
    },
  );
});

it("gives a retried job its texts, and lets retention delete them", async () => {
  const { world, finish } = await open();
  const error = { error: { code: "bad", message: "no", retryable: false } };
  const id = await finish(LONG, error, "fail");
  await age(world);
  await run(world);
  // The words of a job that may change are read from the start of its prompt again.
  expect(await typesOf(world, id)).toMatchObject({ start: "text", prompt: "blob", input: "blob" });
  await world.ok("POST", `/api/jobs/${id}/retry`, {});
  const { jobs } = await world.ok("POST", "/api/workers/w/claim", { max: 1 });
  expect(jobs).toMatchObject([{ id, ...LONG }]);
  expect((await world.ok("GET", "/api/jobs?q=zebra&max_chars=0")).jobs).toMatchObject([{ id }]);
  await world.ok("POST", `/api/jobs/${id}/complete`, { lease: jobs[0].lease, result: "short" });
  await world.ok("PUT", "/config", { history: { keep_texts_days: 1 } });
  await world.ok("GET", "/api/jobs");
  await age(world, 48);
  await runMinute(env);
  expect((await typesOf(world, id)).bytes).toBe(0);
  expect((await world.ok("GET", "/api/jobs")).jobs).toMatchObject([{ id, prompt: "", input: null, result: null }]);
});
