// Files: stored, read in ranges, linked, owned, bounded, and gone at their end.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { fileName, linesName } from "../../durable-objects/object-name.ts";
import { type Client, newWorld, ORIGIN, ROOT_KEY, request, type World } from "../support/workerd/client.ts";

const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;

const store = (client: Client, bytes: BodyInit, query = "?name=note.txt") =>
  client.post(`/api/files${query}`, undefined, { raw: bytes, headers: { "content-type": "text/plain" } });

const stored = async (client: Client, bytes: BodyInit, query?: string): Promise<string> => {
  const { status, body, text } = await store(client, bytes, query);
  expect(status, text).toBe(201);
  return body.id;
};

/** A file whose length nobody tells: it comes as it is sent, in MiB. */
const storeInPieces = (client: Client) => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const send = async (mib: number): Promise<void> => {
    for (let sent = 0; sent < mib; sent += 1) await writer.write(new Uint8Array(MIB));
  };
  return { coming: store(client, readable), send, end: () => writer.close() };
};

const hex = async (text: string): Promise<string> =>
  [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");

/** What the object with a file's bytes has kept. */
const bytesLeft = (world: World, id: string): Promise<number> =>
  runInDurableObject(env.FILES.getByName(fileName(world.tenant, id)), (_file, { storage }) => {
    const [table] = storage.sql.exec("SELECT name FROM sqlite_master WHERE name IN ('rows_of', 'shelved')").toArray();
    if (table === undefined) return 0;
    return Number(storage.sql.exec(`SELECT COALESCE(SUM(LENGTH(bytes)), 0) AS bytes FROM ${table.name}`).one().bytes);
  });

/** What the tenant counts, with what is still coming. */
const bytesHeld = (world: World): Promise<number> =>
  runInDurableObject(world.stub, (_tenant, { storage }) =>
    Number(storage.sql.exec("SELECT SUM(bytes) AS bytes FROM files").one().bytes),
  );

/** The time of its end comes. */
const endNow = async (world: World): Promise<void> => {
  await runInDurableObject(world.stub, (_tenant, { storage }) => {
    storage.sql.exec("UPDATE files SET expires_at = 1, record = json_set(record, '$.expiresAt', 1)");
  });
};

describe("a file", () => {
  it("is stored as it is and says what it is", async () => {
    const world = await newWorld();
    const { status, body } = await store(
      world,
      "hello",
      "?name=a%20b.txt&purpose=user_data&expires_after_seconds=7200",
    );
    expect(status).toBe(201);
    expect(body).toMatchObject({ name: "a b.txt", bytes: 5, content_type: "text/plain", purpose: "user_data" });
    expect(body).toMatchObject({ sha256: await hex("hello"), job_id: null, key_id: expect.any(String) });
    expect(Date.parse(body.expires_at) - Date.parse(body.created_at)).toBe(2 * HOUR_MS);
    expect(await world.ok("GET", `/api/files/${body.id}`)).toEqual(body);
    const listed = await world.ok("GET", "/api/files?purpose=user_data");
    expect(listed).toMatchObject({ files: [body], total: 1, limit: 50, offset: 0 });
    expect((await world.ok("GET", "/api/files?purpose=batch")).files).toEqual([]);
  });

  it("comes back whole or in one range, always as a download", async () => {
    const world = await newWorld();
    const text = "0123456789".repeat(120_000);
    const id = await stored(world, text, "?name=r%C3%A9sum%C3%A9.html");
    const whole = await world.get(`/api/files/${id}/content`);
    expect(whole.text === text).toBe(true);
    expect(whole.headers.get("etag")).toBe(`"${await hex(text)}"`);
    expect(whole.headers.get("content-disposition")).toBe(
      "attachment; filename=\"r_sum_.html\"; filename*=UTF-8''r%C3%A9sum%C3%A9.html",
    );
    expect(whole.headers.get("content-security-policy")).toBe("sandbox");
    expect(whole.headers.get("x-content-type-options")).toBe("nosniff");
    const range = (header: string, more = {}) =>
      world.get(`/api/files/${id}/content`, { headers: { range: header, ...more } });
    const edges = [524_280, 524_300] as const;
    const part = await range(`bytes=${edges[0]}-${edges[1]}`);
    expect([part.status, part.text]).toEqual([206, text.slice(edges[0], edges[1] + 1)]);
    expect(part.headers.get("content-range")).toBe(`bytes ${edges[0]}-${edges[1]}/${text.length}`);
    expect((await range("bytes=-7")).text).toBe(text.slice(-7));
    expect((await range("bytes=1199990-")).text).toBe(text.slice(1_199_990));
    expect((await range("bytes=1200000-")).status).toBe(416);
    expect((await range("bytes=0-1,5-6")).status).toBe(200);
    expect((await range("bytes=0-1", { "if-range": '"other"' })).status).toBe(200);
    const known = { headers: { "if-none-match": whole.headers.get("etag") ?? "" } };
    expect((await world.get(`/api/files/${id}/content`, known)).status).toBe(304);
  });

  it("of no bytes is a file", async () => {
    const world = await newWorld();
    const id = await stored(world, "");
    expect(await world.get(`/api/files/${id}/content`)).toMatchObject({ status: 200, text: "" });
  });

  it("comes by a form with one file, whatever the order of its parts", async () => {
    const world = await newWorld();
    const form = new FormData();
    form.set("file", new Blob(["\r\n--not the boundary\r\n"], { type: "text/csv" }), 'C:\\data\\"q".csv');
    const { status, body } = await world.post("/api/files", undefined, { raw: form });
    expect(status).toBe(201);
    expect(body).toMatchObject({ name: '"q".csv', content_type: "text/csv", bytes: 22 });
    expect((await world.get(`/api/files/${body.id}/content`)).text).toBe("\r\n--not the boundary\r\n");
    form.append("file", new Blob(["2"]), "two");
    expect((await world.post("/api/files", undefined, { raw: form })).body.detail).toContain("more than once");
    const none = new FormData();
    none.set("name", "x");
    expect((await world.post("/api/files", undefined, { raw: none })).status).toBe(400);
    const broken = { raw: '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nab' };
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    expect((await world.post("/api/files", undefined, { ...broken, headers })).status).toBe(400);
    expect((await world.ok("GET", "/api/files")).total).toBe(1);
  });

  it("can be read by a link without a key, until its time, and by no altered link", async () => {
    const world = await newWorld();
    const id = await stored(world, "linked");
    const askedAt = Date.now();
    const { url, expires_at } = await world.ok("POST", `/api/files/${id}/link`, { seconds: 60 });
    expect(url.startsWith(`${ORIGIN}/files/`)).toBe(true);
    expect(Date.parse(expires_at)).toBeGreaterThanOrEqual(askedAt + 60_000);
    const path = url.slice(ORIGIN.length);
    expect(await request(null, "GET", path)).toMatchObject({ status: 200, text: "linked" });
    const later = path.replace(/\.(\d{13})\./, (_: string, at: string) => `.${Number(at) + 1}.`);
    expect((await request(null, "GET", later)).status).toBe(404);
    expect((await request(null, "GET", `${path}x`)).status).toBe(404);
    expect((await request(null, "GET", path.slice(0, -1))).status).toBe(404);
    expect((await world.post(`/api/files/${id}/link`, { seconds: 86_401 })).status).toBe(400);
    await world.ok("DELETE", `/api/files/${id}`);
    expect((await request(null, "GET", path)).status).toBe(404);
  });

  it("whose long name ends in the middle of a character, or is a path, comes back by its link and to its worker", async () => {
    const world = await newWorld();
    const named = async (name: string): Promise<void> => {
      const form = new FormData();
      form.set("file", new Blob(["named"]), name);
      const { body } = await world.post("/api/files", undefined, { raw: form });
      expect(body.name.isWellFormed() && body.name.length <= 255, body.name).toBe(true);
      expect((await world.get(`/api/files/${body.id}/content`)).text).toBe("named");
      const { url } = await world.ok("POST", `/api/files/${body.id}/link`);
      expect((await request(null, "GET", new URL(url).pathname)).text, name).toBe("named");
    };
    await named(`${"a".repeat(254)}😀`);
    await named("50%25 ä+b (1)?#&=.txt");
    await named("..");
    await named(".");
  });

  it("is seen by whom its owner's role says", async () => {
    const world = await newWorld();
    const [client, other, viewer, worker, standard] = await Promise.all(
      (["client", "client", "viewer", "worker", "standard"] as const).map((role) => world.withKey(role)),
    );
    const id = await stored(client as Client, "mine");
    const statuses = async (one: Client | undefined) => [
      (await one?.get(`/api/files/${id}`))?.status,
      (await one?.get(`/api/files/${id}/content`))?.status,
    ];
    expect(await statuses(client)).toEqual([200, 200]);
    expect(await statuses(standard)).toEqual([200, 200]);
    expect(await statuses(viewer)).toEqual([200, 403]);
    expect(await statuses(other)).toEqual([404, 404]);
    expect(await statuses(worker)).toEqual([404, 404]);
    expect(await statuses(await newWorld())).toEqual([404, 404]);
    expect((await other?.get("/api/files"))?.body.total).toBe(0);
    expect((await client?.get("/api/files"))?.body.total).toBe(1);
    for (const one of [viewer, worker]) expect((await store(one as Client, "x")).status).toBe(403);
    expect((await other?.delete(`/api/files/${id}`))?.status).toBe(404);
    expect((await client?.delete(`/api/files/${id}`))?.status).toBe(204);
  });

  it("that would pass the tenant's bound is refused, and leaves nothing", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { files: { max_gb: 0.000001 } });
    const first = await stored(world, "x".repeat(600));
    const { status, body } = await store(world, "y".repeat(600));
    expect([status, body.code]).toEqual([507, "files_full"]);
    const unknownLength = new Blob(["z".repeat(600)]).stream();
    expect((await store(world, unknownLength)).body).toMatchObject({
      status: 507,
      detail: expect.stringContaining("take 600 bytes of 1000:"),
    });
    expect((await world.ok("GET", "/api/files")).total).toBe(1);
    await world.ok("DELETE", `/api/files/${first}`);
    expect((await store(world, "y".repeat(600))).status).toBe(201);
  });

  it("of unknown length takes its room while it comes", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { files: { max_gb: 0.04 } });
    const { coming, send, end } = storeInPieces(world);
    await send(17);
    await expect.poll(() => bytesHeld(world)).toBeGreaterThan(32 * MIB);
    const beside = await store(world, new Uint8Array(8 * MIB));
    expect([beside.status, beside.body.code]).toEqual([507, "files_full"]);
    await end();
    expect((await coming).body.bytes).toBe(17 * MIB);
    expect(await bytesHeld(world)).toBe(17 * MIB);
    expect((await store(world, new Uint8Array(8 * MIB))).status).toBe(201);
  });

  it("of unknown length ends where the room that it needs is another's, and leaves nothing", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { files: { max_gb: 0.04 } });
    const { coming, send } = storeInPieces(world);
    await send(8);
    expect((await store(world, new Uint8Array(24 * MIB))).status).toBe(201);
    const [{ status, body }] = await Promise.all([coming, send(9).catch(() => undefined)]);
    expect([status, body.code]).toEqual([507, "files_full"]);
    expect((await world.ok("GET", "/api/files")).total).toBe(1);
  });

  it("that says it is too large is refused at once, with the way out", async () => {
    const world = await newWorld();
    const headers = { "content-type": "text/plain", "content-length": String(513 * 1024 * 1024) };
    const { status, body } = await world.post("/api/files?name=x", undefined, { raw: "x", headers });
    expect([status, body.code]).toEqual([413, "file_too_large"]);
    expect(body.detail).toContain("/v1/uploads");
  });

  it("has its bytes until its end, however soon what never arrives is given up", async () => {
    const world = await newWorld();
    const id = await stored(world, new Uint8Array(MIB), "?expires_after_seconds=86400");
    const { expires_at: end } = await world.ok("GET", `/api/files/${id}`);
    const object = env.FILES.getByName(fileName(world.tenant, id));
    expect(await runInDurableObject(object, (_, { storage }) => storage.getAlarm())).toBe(Date.parse(end));
  });

  it.each([4, MIB])("of %d bytes is not there past its end, and its bytes are gone", async (bytes) => {
    const world = await newWorld();
    const id = await stored(world, new Uint8Array(bytes));
    expect(await bytesLeft(world, id)).toBe(bytes);
    await endNow(world);
    expect((await world.get(`/api/files/${id}`)).status).toBe(404);
    expect((await world.get(`/api/files/${id}/content`)).status).toBe(404);
    await runInDurableObject(world.stub, (tenant) => tenant.alarm());
    await expect.poll(() => bytesLeft(world, id)).toBe(0);
  });

  it("is refused at full halt, and can be read", async () => {
    const world = await newWorld();
    const id = await stored(world, "before");
    await world.ok("POST", "/killswitch", { level: 4, reason: "stop" });
    expect((await store(world, "x")).body.code).toBe("killswitch_active");
    expect((await world.get(`/api/files/${id}/content`)).text).toBe("before");
  });

  it("ends with its tenant, and so does what a batch made of it", async () => {
    const world = await newWorld();
    const id = await stored(world, "x".repeat(1_000_000));
    const line = { custom_id: "a", method: "POST", url: "/v1/embeddings", body: { model: "m1", input: "x" } };
    const input = await stored(world, JSON.stringify(line), "?name=in.jsonl&purpose=batch");
    const asked = { input_file_id: input, endpoint: "/v1/embeddings", completion_window: "24h" };
    await world.ok("POST", "/v1/batches", asked);
    const places = [fileName(world.tenant, id), fileName(world.tenant, input), linesName(world.tenant, input)];
    const tables = () =>
      Promise.all(
        places.map((place) =>
          runInDurableObject(env.FILES.getByName(place), (_, { storage }) =>
            storage.sql
              .exec("SELECT name FROM sqlite_master WHERE name IN ('segments', 'shelved', 'lines')")
              .toArray()
              .map(({ name }) => name),
          ),
        ),
      );
    await expect.poll(tables).toEqual([["segments"], ["shelved"], ["lines"]]);
    expect((await request(ROOT_KEY, "DELETE", `/admin/tenants/${world.tenant}`)).status).toBe(204);
    expect(await tables()).toEqual([[], [], []]);
  });
});
