import { evictDurableObject, listDurableObjectIds } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { MAX_RESPONSES_BYTES } from "../../domain/front-door/stored-response.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import { alarm, type Body, inStorage, newWorld, type World } from "../support/workerd/client.ts";
import { fakeWorker, post, responseEvent, type Streamed } from "../support/workerd/fake-worker.ts";

const RESPONSES = "/v1/responses";
const FILLING = "x".repeat(1_200_000);
const TWO_HOURS = { completion_window: "2h" };

const answerOf = (text: string) => ({
  id: "resp_of_the_runtime",
  object: "response",
  status: "completed",
  model: "m1",
  output: [{ id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text }] }],
});

const ask = (world: World, body: Body = {}): Promise<Streamed> =>
  post(world.key, RESPONSES, { model: "m1", input: "say hello", ...body });

/** Its id; its job waits or runs. */
const inBackground = async (world: World, body: Body = {}): Promise<string> => {
  const made = await ask(world, { background: true, ...body });
  expect(made.status).toBe(200);
  return JSON.parse(await made.whole).id;
};

const read = async (world: World, id: string): Promise<Body> => (await world.get(`${RESPONSES}/${id}`)).body;

describe("a response of a client key", () => {
  it("is its client's: another client key reads, follows, cancels and deletes nothing of it", async () => {
    const world = await newWorld();
    const [owner, other, viewer] = [
      await world.withKey("client"),
      await world.withKey("client"),
      await world.withKey("viewer"),
    ];
    await fakeWorker(world);
    const made = await post(owner.key, RESPONSES, { model: "m1", input: "mine", background: true });
    const { id } = JSON.parse(await made.whole);
    const at = `${RESPONSES}/${id}`;
    const ways = [
      () => other.get(at),
      () => other.get(`${at}/input_items`),
      () => other.post(`${at}/cancel`),
      () => other.delete(at),
    ];
    for (const way of ways) expect((await way()).status).toBe(404);
    expect((await owner.get(`${at}/input_items?after=none`)).body.error.message).toBe('item "none" not found');
    expect((await viewer.get(at)).status).toBe(200);
    const follows = await post(other.key, RESPONSES, { model: "m1", input: "x", previous_response_id: id });
    expect([follows.status, await follows.whole]).toEqual([400, expect.stringContaining("there is no response")]);
    expect((await owner.get(at)).status).toBe(200);
    expect((await owner.delete(at)).status).toBe(200);
  });
});

describe("a request that refers to items of stored answers, as the AI SDK does from the second turn on", () => {
  const said = { id: "msg_7", type: "message", role: "assistant", content: [{ type: "output_text", text: "hi" }] };
  const thought = { id: "rs_7", type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] };
  const asked = { role: "user", content: "say hello" };
  const refer = (id: string) => ({ type: "item_reference", id });
  const answered = async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const asking = ask(world);
    worker.complete(await worker.nextJob(), { ...answerOf("hi"), output: [thought, said, null, { id: 5 }] });
    const { id } = JSON.parse(await (await asking).whole);
    return { world, worker, id };
  };

  it("brings them to its runtime in their places, but for thoughts that nobody can read", async () => {
    const { world, worker } = await answered();
    for (const filling of ["", FILLING]) {
      const input = [asked, refer("rs_7"), refer("msg_7"), { ...asked, content: `again${filling}` }];
      const asking = ask(world, { input, store: false });
      const job = await worker.nextJob();
      const got = job.input ?? (await world.get(job.input_url)).body;
      expect(got.input).toEqual([asked, said, input[3]]);
      worker.complete(job, answerOf("hi again"));
      expect((await asking).status).toBe(200);
    }
  });

  it("brings items of long answers, too", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const long = { ...said, content: [{ type: "output_text", text: "a".repeat(70_000) }] };
    const first = ask(world);
    worker.complete(await worker.nextJob(), { ...answerOf("hi"), output: [long] });
    expect((await first).status).toBe(200);
    const asking = ask(world, { input: [refer("msg_7"), asked], store: false });
    const job = await worker.nextJob();
    expect(job.input.input).toEqual([long, asked]);
    worker.complete(job, answerOf("hi again"));
    expect((await asking).status).toBe(200);
  });

  it("is refused if its key has no such item, or no longer", async () => {
    const { world, id } = await answered();
    const refused = async (key: string | null, input: unknown) => {
      const { status, whole } = await post(key, RESPONSES, { model: "m1", input });
      return [status, JSON.parse(await whole).error.param, await whole];
    };
    const noItem = (of: string) => [400, "input", expect.stringContaining(`no item \\"${of}\\"`)];
    expect(await refused(world.key, [asked, refer("msg_8")])).toEqual(noItem("msg_8"));
    const other = await world.withKey("standard");
    expect(await refused(other.key, [asked, refer("msg_7")])).toEqual(noItem("msg_7"));
    const many = Array.from({ length: 1001 }, () => refer("msg_7"));
    expect(await refused(world.key, many)).toEqual([400, "input", expect.stringContaining("at most 1000 items")]);
    await world.ok("DELETE", `${RESPONSES}/${id}`);
    expect(await refused(world.key, [asked, refer("msg_7")])).toEqual(noItem("msg_7"));
  });
});

describe("a response in the background", () => {
  it("goes back to the queue under the killswitch, waits for its end, and is cancelled by level 4", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const id = await inBackground(world);
    worker.start(await worker.nextJob());
    await expect.poll(async () => (await read(world, id)).status).toBe("in_progress");
    await world.ok("POST", "/killswitch", { level: 1, reason: "a test" });
    expect((await read(world, id)).status).toBe("queued");
    const later = await inBackground(world);
    expect((await read(world, later)).status).toBe("queued");
    await world.ok("POST", "/killswitch", { level: 4, reason: "a test" });
    expect((await read(world, id)).status).toBe("cancelled");
    expect((await ask(world, { background: true })).status).toBe(503);
  });

  it("is answered by another worker where the first is lost after it began to speak", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const made = await ask(world, { background: true, stream: true });
    const job = await worker.nextJob();
    worker.start(job);
    const response = { id: "r1", status: "in_progress" };
    worker.speak(job, responseEvent("response.created", 0, { response }));
    worker.say(job, responseEvent("response.output_text.delta", 1, { delta: "hel" }));
    const text = await made.until((said) => said.includes("delta"));
    const id = /resp_[0-9a-f-]{36}/.exec(text)?.[0] ?? "";
    expect(id).toBe(`resp_${job.id}`);
    const other = await fakeWorker(world, { instance: "w2" });
    worker.fail(job, { code: "unreachable", retryable: true });
    await world.ok("POST", "/api/workers/w1/pause", {});
    const again = await other.nextJob();
    expect(again.id).toBe(job.id);
    other.start(again);
    other.complete(again, answerOf("hello"));
    const events = (await made.whole).split("\n\n").filter((one) => one.startsWith("event: "));
    expect(events).toHaveLength(3);
    expect(events.at(-1)).toContain('"type":"response.completed"');
    expect(events.at(-1)).toContain("hello");
  });

  it("goes on when the reader of its stream leaves", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const made = await ask(world, { background: true, stream: true });
    const job = await worker.nextJob();
    worker.start(job);
    worker.speak(job, responseEvent("response.created", 0, { response: { id: "r1" } }));
    await made.until((said) => said.includes("response.created"));
    await made.cancel();
    worker.say(job, responseEvent("response.output_text.delta", 1, { delta: "hello" }));
    worker.end(job);
    worker.complete(job, answerOf("hello"));
    await expect.poll(async () => (await read(world, `resp_${job.id}`)).status).toBe("completed");
    expect(worker.heard).toEqual([]);
  });

  it("is none for its runtime, which would refuse options of it", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    await inBackground(world, { background_options: TWO_HOURS });
    expect((await worker.nextJob()).input).toEqual({ model: "m1", input: "say hello", store: false });
  });

  it("waits with a body over 1 MiB, however long, and its worker gets it", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    await world.ok("POST", "/api/workers/w1/pause", {});
    const waiting = await inBackground(world, { filling: FILLING, background_options: TWO_HOURS });
    await evictDurableObject(world.stub);
    await world.ok("POST", "/api/workers/w1/resume", {});
    const job = await worker.nextJob();
    const { body } = await world.get(job.input_url);
    expect(body).toMatchObject({ filling: FILLING, background: false, background_options: {} });
    worker.start(job);
    worker.complete(job, answerOf("hello"));
    await expect.poll(async () => (await read(world, waiting)).status).toBe("completed");
  });

  it("waits under the killswitch below level 3, however long its body is", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const sizes = [1, 100_000, FILLING.length];
    const asked = () => Promise.all(sizes.map((size) => ask(world, { background: true, filling: "x".repeat(size) })));
    await world.ok("POST", "/killswitch", { level: 2, reason: "a test" });
    expect((await asked()).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await ask(world, { filling: FILLING })).status).toBe(503);
    await world.ok("POST", "/killswitch", { level: 3, reason: "a test" });
    expect((await asked()).map(({ status }) => status)).toEqual([503, 503, 503]);
    await world.ok("DELETE", "/killswitch?resume_all=true");
    for (let job = 0; job < sizes.length; job += 1) expect((await worker.nextJob()).api).toBe("responses");
  });

  it("waits where a budget is reached, as any job of the queue", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world, { provider: "paid" });
    const config = (day_usd: number) => ({
      providers: { paid: { pricing: { "*": { per_request: 1 } } } },
      budget: { day_usd },
    });
    await world.ok("PUT", "/config", config(1));
    await inBackground(world);
    const first = await worker.nextJob();
    worker.complete(first, answerOf("hi"));
    await expect.poll(async () => (await ask(world)).status).toBe(503);
    const id = await inBackground(world);
    expect((await read(world, id)).status).toBe("queued");
    await world.ok("PUT", "/config", config(5));
    expect(`resp_${(await worker.nextJob()).id}`).toBe(id);
  });

  it("is asked for with true or false, and so is its storing", async () => {
    const world = await newWorld();
    await fakeWorker(world);
    for (const [param, value] of [
      ["background", "true"],
      ["background", 1],
      ["store", "false"],
      ["store", {}],
    ] as const) {
      const refused = await ask(world, { [param]: value });
      expect([refused.status, JSON.parse(await refused.whole).error]).toMatchObject([
        400,
        { code: "invalid_request", param, message: `${param}: must be true or false` },
      ]);
    }
  });

  it("is refused where nothing is to be stored", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    await world.ok("PUT", "/config", { front_door: { store: "none" } });
    const refused = await ask(world, { background: true });
    expect([refused.status, JSON.parse(await refused.whole).error]).toMatchObject([
      400,
      { code: "unsupported_parameter", param: "background" },
    ]);
    const answering = ask(world);
    const job = await worker.nextJob();
    worker.complete(job, answerOf("hello"));
    expect(JSON.parse(await (await answering).whole)).toEqual(answerOf("hello"));
    expect((await world.get(`${RESPONSES}/resp_${job.id}`)).status).toBe(404);
  });
});

const answered = async (world: World, body: Body = {}): Promise<string> => {
  const worker = await fakeWorker(world, { instance: `w${Math.random()}` });
  const answering = ask(world, body);
  const job = await worker.nextJob();
  worker.complete(job, answerOf("hello"));
  const { id } = JSON.parse(await (await answering).whole);
  worker.socket.socket.close();
  return id;
};

const records = (world: World): Promise<Body[]> =>
  inStorage(world, ({ sql }) => sql.exec("SELECT id, expires_at, chars FROM responses ORDER BY expires_at").toArray());

const chars = (world: World): Promise<number> =>
  inStorage(world, ({ sql }) => sql.exec("SELECT chars FROM response_sums").one().chars as number);

describe("a stored response", () => {
  it("is deleted after its days, and read until then", async () => {
    const world = await newWorld();
    await world.ok("PUT", "/config", { front_door: { responses_days: 2 } });
    const id = await answered(world);
    const [row] = await records(world);
    expect(Math.round((row?.expires_at - Date.now()) / DAY_MS)).toBe(2);
    await evictDurableObject(world.stub);
    expect((await read(world, id)).status).toBe("completed");
    await inStorage(world, ({ sql }) => {
      sql.exec("UPDATE responses SET expires_at = 1, record = json_set(record, '$.expiresAt', 1)");
    });
    expect((await world.get(`${RESPONSES}/${id}`)).status).toBe(404);
    await alarm(world);
    expect(await records(world)).toEqual([]);
    expect(await chars(world)).toBe(0);
  });

  it("leaves early where a tenant has too many: the oldest make room", async () => {
    const world = await newWorld();
    const id = await answered(world);
    const [row] = await records(world);
    expect(await chars(world)).toBe(row?.chars);
    await inStorage(world, ({ sql }) => {
      sql.exec("UPDATE response_sums SET chars = ?", MAX_RESPONSES_BYTES + 1);
    });
    const next = await answered(world);
    expect((await world.get(`${RESPONSES}/${id}`)).status).toBe(404);
    expect((await read(world, next)).status).toBe("completed");
  });

  it("has at most 100 turns before it", async () => {
    const world = await newWorld();
    const id = await answered(world);
    await inStorage(world, ({ sql }) => {
      sql.exec("UPDATE responses SET record = json_set(record, '$.turns', 99)");
    });
    const hundredth = await answered(world, { previous_response_id: id });
    const refused = await ask(world, { previous_response_id: hundredth });
    expect([refused.status, JSON.parse(await refused.whole).error]).toMatchObject([
      400,
      { code: "invalid_request", param: "previous_response_id", message: expect.stringContaining("100 turns") },
    ]);
  });

  it("cannot be followed where a turn before it is gone", async () => {
    const world = await newWorld();
    const first = await answered(world);
    const second = await answered(world, { previous_response_id: first });
    await world.ok("DELETE", `${RESPONSES}/${first}`);
    const refused = await ask(world, { previous_response_id: second });
    expect([refused.status, JSON.parse(await refused.whole).error.param]).toEqual([400, "previous_response_id"]);
  });

  it("is answered again under its Idempotency-Key though the turn before it is gone", async () => {
    const world = await newWorld();
    for (const input of ["again", FILLING]) {
      const previous = { previous_response_id: await answered(world), input };
      const worker = await fakeWorker(world, { instance: `w${Math.random()}` });
      const repeat = (key: string, more: Body = {}) =>
        post(world.key, RESPONSES, { model: "m1", ...previous, ...more }, { "idempotency-key": key });
      const asking = repeat(`k${input.length}`);
      worker.complete(await worker.nextJob(), answerOf("hello"));
      const first = await (await asking).whole;
      await world.ok("DELETE", `${RESPONSES}/${previous.previous_response_id}`);
      const again = await repeat(`k${input.length}`);
      expect([again.status, again.headers.get("idempotency-replayed"), await again.whole]).toEqual([
        200,
        "true",
        first,
      ]);
      expect((await repeat(`k${input.length}`, { temperature: 1 })).status).toBe(422);
      const other = await repeat("another");
      expect([other.status, JSON.parse(await other.whole).error.param]).toEqual([400, "previous_response_id"]);
      worker.socket.socket.close();
    }
  });

  it("has nothing stored for a long request that follows none, though it has an Idempotency-Key", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const before = await listDurableObjectIds(env.RELAY);
    const body = { model: "m1", previous_response_id: `resp_${crypto.randomUUID()}`, input: FILLING };
    const refused = await post(world.key, RESPONSES, body, { "idempotency-key": "k" });
    expect([refused.status, JSON.parse(await refused.whole).error.param]).toEqual([400, "previous_response_id"]);
    expect(await listDurableObjectIds(env.RELAY)).toHaveLength(before.length);
    worker.socket.socket.close();
  });

  it("cannot be followed where the file with a long input before it was deleted", async () => {
    const world = await newWorld();
    const first = await answered(world, { input: FILLING });
    const [file] = (await world.ok("GET", "/api/files")).files;
    await world.ok("DELETE", `/api/files/${file.id}`);
    const refused = await ask(world, { previous_response_id: first });
    expect([refused.status, JSON.parse(await refused.whole).error.param]).toEqual([400, "previous_response_id"]);
  });

  it("tells that its answer was not stored, where its worker streamed it alone", async () => {
    const world = await newWorld();
    const worker = await fakeWorker(world);
    const made = await ask(world, { background: true, stream: true });
    const job = await worker.nextJob();
    worker.start(job);
    worker.speak(job, responseEvent("response.created", 0, { response: { id: "r1" } }));
    worker.end(job);
    worker.socket.send({
      type: "job.completed",
      id: "1",
      job_id: job.id,
      lease: job.lease,
      result_bytes: 2_000_000,
    });
    expect(await made.whole).toContain("answer_not_stored");
    expect(await read(world, `resp_${job.id}`)).toMatchObject({
      status: "failed",
      error: { code: "answer_not_stored" },
    });
  });
});
