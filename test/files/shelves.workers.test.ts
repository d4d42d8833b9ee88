// Small files lie in a few objects that they share; a large one has an object of its own.

import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MAX_PARTS } from "../../domain/file/file.ts";
import { ROW_BYTES } from "../../durable-objects/files/rows.ts";
import { fileName, linesName, SHELVES } from "../../durable-objects/object-name.ts";
import { eventually } from "../support/eventually.ts";
import { batchWorker } from "../support/workerd/batch-worker.ts";
import { inStorage, newWorld, ORIGIN, type World } from "../support/workerd/client.ts";
import { edgeFetch } from "../support/workerd/edge.ts";

const HOUR_MS = 3_600_000;
/** Would be as many objects if each had its own. */
const MANY = 40;

const store = async (world: World, bytes: BodyInit, query = ""): Promise<string> => {
  const headers = bytes instanceof FormData ? {} : { "content-type": "text/plain" };
  const { status, body, text } = await world.post(`/api/files?name=a${query}`, undefined, { raw: bytes, headers });
  expect(status, text).toBe(201);
  return body.id;
};

/** A body whose length nobody tells. */
const untold = (bytes: Uint8Array<ArrayBuffer>): BodyInit => new Blob([bytes]).stream();

const formOf = (bytes: Uint8Array<ArrayBuffer>): FormData => {
  const form = new FormData();
  form.set("file", new Blob([bytes]), "a");
  return form;
};

const hasOwnObject = (world: World, id: string): boolean => fileName(world.tenant, id) === linesName(world.tenant, id);

const contentOf = async (world: World, id: string): Promise<string> => {
  const headers = { authorization: `Bearer ${world.key}` };
  const response = await edgeFetch(`${ORIGIN}/api/files/${id}/content`, { headers });
  expect(response.status).toBe(200);
  return response.text();
};

const inObject = <T>(name: string, work: (storage: DurableObjectStorage) => T | Promise<T>): Promise<T> =>
  runInDurableObject(env.FILES.getByName(name), (_, { storage }) => work(storage));

/** The ids on the shelf where this one is. */
const besides = (world: World, id: string): Promise<string[]> =>
  inObject(fileName(world.tenant, id), ({ sql }) =>
    sql.exec("SELECT name FROM sqlite_master WHERE name = 'shelved'").toArray().length === 0
      ? []
      : sql
          .exec("SELECT id FROM shelved")
          .toArray()
          .map((row) => row.id as string),
  );

/** Two files on one shelf. */
const neighbours = async (world: World): Promise<[string, string]> => {
  const known = new Map<string, string>();
  for (;;) {
    const id = await store(world, "small");
    const other = known.get(fileName(world.tenant, id));
    if (other !== undefined) return [other, id];
    known.set(fileName(world.tenant, id), id);
  }
};

describe("small files", () => {
  it(`lie in at most ${SHELVES} objects, and come back`, async () => {
    const world = await newWorld();
    const before = new Set((await listDurableObjectIds(env.FILES)).map(String));
    const ids: string[] = [];
    for (let at = 0; at < MANY; at += 1)
      ids.push(await store(world, at % 2 === 0 ? `n${at}` : untold(bytesOf(`n${at}`))));
    const made = (await listDurableObjectIds(env.FILES)).map(String).filter((id) => !before.has(id));
    expect(made.length).toBeLessThanOrEqual(SHELVES);
    for (const [at, id] of ids.entries()) expect(await contentOf(world, id)).toBe(`n${at}`);
  });

  it("are those below a row's size, whether their length is told or not", async () => {
    const world = await newWorld();
    for (const [bytes, isAlone] of [
      [0, false],
      [ROW_BYTES - 1, false],
      [ROW_BYTES, true],
      [ROW_BYTES + 1, true],
    ] as const) {
      const content = new Uint8Array(bytes).fill(65);
      for (const body of [content, untold(content), formOf(content)]) {
        const id = await store(world, body);
        const text = await contentOf(world, id);
        expect([hasOwnObject(world, id), text.length, text === "A".repeat(bytes)]).toEqual([isAlone, bytes, true]);
      }
    }
    expect((await world.ok("GET", "/api/files")).total).toBe(12);
  });

  it("are read in ranges", async () => {
    const world = await newWorld();
    const id = await store(world, "0123456789");
    const range = async (header: string) => {
      const { status, text } = await world.get(`/api/files/${id}/content`, { headers: { range: header } });
      return [status, text];
    };
    expect(await range("bytes=2-4")).toEqual([206, "234"]);
    expect(await range("bytes=-3")).toEqual([206, "789"]);
    expect(await range("bytes=10-")).toEqual([416, expect.any(String)]);
  });

  it("are deleted one by one; the last one leaves an empty object", async () => {
    const world = await newWorld();
    const [one, other] = await neighbours(world);
    await world.ok("DELETE", `/api/files/${one}`);
    await expect.poll(() => besides(world, one)).toEqual([other]);
    expect(await contentOf(world, other)).toBe("small");
    await world.ok("DELETE", `/api/files/${other}`);
    await expect.poll(() => besides(world, one)).toEqual([]);
    expect(await inObject(fileName(world.tenant, one), (storage) => storage.getAlarm())).toBe(null);
  });

  it("end each at its own time, whatever the tenant does", async () => {
    const world = await newWorld();
    const [one, other] = await neighbours(world);
    const name = fileName(world.tenant, one);
    await inObject(name, ({ sql }) => sql.exec("UPDATE shelved SET expires_at = 1 WHERE id = ?", one));
    expect(await runDurableObjectAlarm(env.FILES.getByName(name))).toBe(true);
    expect(await besides(world, one)).toEqual([other]);
    expect(await contentOf(world, other)).toBe("small");
    const month = 30 * 24 * HOUR_MS;
    const wakesAt = (await inObject(name, (storage) => storage.getAlarm())) ?? 0;
    expect(wakesAt).toBeGreaterThan(Date.now() + month);
    expect(wakesAt).toBeLessThan(Date.now() + month + HOUR_MS);
  });

  it("wake their object for the one that ends first", async () => {
    const world = await newWorld();
    const [, other] = await neighbours(world);
    let id = "";
    do id = await store(world, "short", "&expires_after_seconds=3600");
    while (fileName(world.tenant, id) !== fileName(world.tenant, other));
    const wakesAt = (await inObject(fileName(world.tenant, id), (storage) => storage.getAlarm())) ?? 0;
    expect(wakesAt).toBeLessThan(Date.now() + 2 * HOUR_MS);
  });

  it("that break off leave nothing, and what says that it is large makes no object before it is", async () => {
    const world = await newWorld();
    const before = new Set((await listDurableObjectIds(env.FILES)).map(String));
    const type = { "content-type": "multipart/form-data; boundary=b" };
    const raw = '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nab';
    for (const headers of [type, { ...type, "content-length": String(64 * ROW_BYTES) }])
      for (let at = 0; at < MANY / 2; at += 1)
        expect((await world.post("/api/files", undefined, { raw, headers })).status).toBe(400);
    const made = (await listDurableObjectIds(env.FILES)).map(String).filter((id) => !before.has(id));
    expect(made.length).toBeLessThanOrEqual(SHELVES);
    expect((await world.ok("GET", "/api/files")).total).toBe(0);
    const held = await inStorage(world, ({ sql }) => sql.exec("SELECT * FROM file_sums").toArray());
    expect(held).toEqual([{ owner: "", files: 0, bytes: 0 }]);
  });
});

describe("an upload in parts", () => {
  const begin = async (world: World, bytes = 1): Promise<string> =>
    (await world.ok("POST", "/v1/uploads", { bytes, filename: "a", purpose: "batch", mime_type: "text/plain" })).id;
  const send = (world: World, id: string, text: string) => {
    const form = new FormData();
    form.set("data", new Blob([text]), "part");
    return world.post(`/v1/uploads/${id}/parts`, undefined, { raw: form, headers: {} });
  };

  it("of which nothing was sent makes no object, however it ends", async () => {
    const world = await newWorld();
    const before = (await listDurableObjectIds(env.FILES)).length;
    await world.ok("POST", `/v1/uploads/${await begin(world)}/cancel`);
    const [left, sent] = [await begin(world), await begin(world)];
    expect((await send(world, sent, "x")).status).toBe(200);
    await inStorage(world, ({ sql }) =>
      sql.exec("UPDATE files SET expires_at = 1, record = json_set(record, '$.expiresAt', 1)"),
    );
    await eventually(async () => {
      await runDurableObjectAlarm(env.TENANT.getByName(world.tenant));
      expect(await inStorage(world, ({ sql }) => sql.exec("SELECT id FROM files").toArray())).toEqual([]);
    });
    expect((await world.post(`/v1/uploads/${left}/cancel`, {})).status).toBe(404);
    await expect.poll(() => besides(world, sent.replace("upload_", "file-"))).toEqual([]);
    expect((await listDurableObjectIds(env.FILES)).length).toBe(before + 1);
  });

  it("that is small has no object of its own, and leaves none of its parts", async () => {
    const world = await newWorld();
    const before = new Set((await listDurableObjectIds(env.FILES)).map(String));
    const uploads = [];
    for (let at = 0; at < MANY / 4; at += 1) uploads.push(await begin(world, 3));
    const [first = "", ...others] = uploads;
    const parts = [await send(world, first, "ab"), await send(world, first, "c"), await send(world, first, "")];
    expect((await send(world, first, "abc")).status).toBe(200);
    expect((await send(world, first, "d")).status).toBe(413);
    const part_ids = parts.map(({ body }) => body.id);
    const complete = (ids: string[]) => world.post(`/v1/uploads/${first}/complete`, { part_ids: ids });
    expect((await complete(part_ids.slice(1))).body.error.message).toContain("have 1 bytes, but 3");
    expect((await complete(["part_other"])).status).toBe(400);
    const done = await complete(part_ids);
    expect([done.status, await contentOf(world, done.body.file.id)]).toEqual([200, "abc"]);
    for (const id of others) {
      await send(world, id, "x");
      await world.ok("POST", `/v1/uploads/${id}/cancel`);
    }
    const made = (await listDurableObjectIds(env.FILES)).map(String).filter((id) => !before.has(id));
    expect(made.length).toBeLessThanOrEqual(SHELVES);
    await expect.poll(() => besides(world, done.body.file.id)).toEqual([done.body.file.id]);
  });

  it("whose file is on its own object takes its parts there", async () => {
    const world = await newWorld();
    const id = await begin(world, ROW_BYTES);
    const { body } = await send(world, id, "x".repeat(ROW_BYTES));
    const done = await world.ok("POST", `/v1/uploads/${id}/complete`, { part_ids: [body.id] });
    expect([hasOwnObject(world, done.file.id), done.file.bytes]).toEqual([true, ROW_BYTES]);
    const { expires_at: end } = await world.ok("GET", `/api/files/${done.file.id}`);
    expect(await inObject(fileName(world.tenant, done.file.id), (storage) => storage.getAlarm())).toBe(Date.parse(end));
  });

  it("takes no more parts than the bound, also of those that have no bytes", async () => {
    const world = await newWorld();
    const id = await begin(world, 10);
    expect((await send(world, id, "")).status).toBe(200);
    const file = id.replace("upload_", "file-");
    await inObject(fileName(world.tenant, file), ({ sql }) =>
      sql.exec(
        `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${MAX_PARTS - 1})
         INSERT INTO shelved SELECT ? || '/part_' || n, expires_at, x'' FROM n, shelved`,
        file,
      ),
    );
    const refused = await send(world, id, "");
    expect([refused.status, refused.body.error.message]).toEqual([413, expect.stringContaining(`${MAX_PARTS} parts`)]);
  });
});

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;

const line = (name: string): string =>
  JSON.stringify({ custom_id: name, method: "POST", url: "/v1/embeddings", body: { model: "m1", input: name } });

describe("a batch of a small file", () => {
  it("keeps its input for as long as it may run, and its outputs when that is deleted", async () => {
    const world = await newWorld();
    const input = await store(world, [line("a"), line("b")].join("\n"), "&purpose=batch&expires_after_seconds=3600");
    expect(hasOwnObject(world, input)).toBe(false);
    const asked = { input_file_id: input, endpoint: "/v1/embeddings", completion_window: "24h" };
    const { id } = await world.ok("POST", "/v1/batches", asked);
    await eventually(async () => expect((await world.ok("GET", `/api/batches/${id}`)).status).toBe("in_progress"));
    const keptUntil = await inObject(
      fileName(world.tenant, input),
      ({ sql }) => sql.exec("SELECT expires_at FROM shelved WHERE id = ?", input).one().expires_at,
    );
    expect(keptUntil).toBeGreaterThan(Date.now() + 24 * HOUR_MS);
    const worker = await batchWorker(world);
    const batch = await eventually(async () => {
      const now = await world.ok("GET", `/api/batches/${id}`);
      expect(now.status).toBe("completed");
      return now;
    });
    await worker.stop();
    await world.ok("DELETE", `/api/files/${input}`);
    await expect.poll(() => besides(world, input)).toEqual([]);
    const text = await contentOf(world, batch.output_file);
    expect(text.trimEnd().split("\n").length).toBe(2);
    await world.ok("DELETE", `/api/files/${batch.output_file}`);
    const isEmpty = () =>
      inObject(
        linesName(world.tenant, input),
        ({ sql }) => sql.exec("SELECT name FROM sqlite_master WHERE name = 'lines'").toArray().length === 0,
      );
    await expect.poll(isEmpty).toBe(true);
  });
});
