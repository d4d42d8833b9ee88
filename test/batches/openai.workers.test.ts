// OpenAI's own client: a batch from its file to its answers.

import OpenAI, { toFile } from "openai";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { batchWorker } from "../support/workerd/batch-worker.ts";
import { type Body, newWorld, ORIGIN } from "../support/workerd/client.ts";
import { edgeFetch } from "../support/workerd/edge.ts";

const clientOf = (key: string | null): OpenAI =>
  new OpenAI({
    apiKey: key ?? "",
    baseURL: `${ORIGIN}/v1`,
    maxRetries: 0,
    fetch: (url, init) => edgeFetch(String(url), init as RequestInit),
  });

const line = (name: string, more: Body = {}, request: Body = {}): string =>
  JSON.stringify({
    custom_id: name,
    method: "POST",
    url: "/v1/chat/completions",
    body: { model: "m1", messages: [{ role: "user", content: `say ${name}` }], ...more },
    ...request,
  });

const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => line(`r${at}`));

const begin = async (openai: OpenAI, lines: readonly string[], more: Body = {}) => {
  const file = await openai.files.create({
    file: await toFile(Buffer.from(lines.join("\n")), "in.jsonl"),
    purpose: "batch",
  });
  return openai.batches.create({
    input_file_id: file.id,
    endpoint: "/v1/chat/completions",
    completion_window: "24h",
    ...more,
  });
};

const ENDED = new Set(["completed", "failed", "expired", "cancelled"]);

const whenEnded = (openai: OpenAI, id: string) =>
  eventually(async () => {
    const batch = await openai.batches.retrieve(id);
    expect(ENDED, JSON.stringify(batch)).toContain(batch.status);
    return batch;
  });

const read = async (openai: OpenAI, id: string | null | undefined): Promise<Body[]> =>
  id == null
    ? []
    : (await (await openai.files.content(id)).text())
        .trimEnd()
        .split("\n")
        .map((text) => JSON.parse(text));

const namesIn = (lines: readonly Body[]): string[] => lines.map(({ custom_id: name }) => name);

/** Every name stands once in the output or the error file. */
const eachOnce = async (
  openai: OpenAI,
  batch: Body,
  names: readonly string[],
): Promise<{ out: Body[]; err: Body[] }> => {
  const [out, err] = [await read(openai, batch.output_file_id), await read(openai, batch.error_file_id)];
  expect([...namesIn(out), ...namesIn(err)].sort()).toEqual([...names].sort());
  return { out, err };
};

const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `r${at}`);

it("runs ten lines, tells of answers and of errors, and lists itself", async () => {
  const world = await newWorld();
  const openai = clientOf(world.key);
  const worker = await batchWorker(world, (job) =>
    job.custom_id === "r3"
      ? { error: { code: "bad_request", message: "no such thing", status: 400, retryable: false } }
      : { result: { id: "chat-1", of: job.custom_id } },
  );
  const created = await begin(openai, numbered(10), { metadata: { team: "a" } });
  expect(created).toMatchObject({
    object: "batch",
    status: "validating",
    completion_window: "24h",
    metadata: { team: "a" },
  });
  expect(created.expires_at).toBe(created.created_at + 86_400);
  const batch = await whenEnded(openai, created.id);
  expect(batch).toMatchObject({
    status: "completed",
    model: "m1",
    request_counts: { total: 10, completed: 9, failed: 1 },
  });
  expect(batch.usage).toMatchObject({ input_tokens: 27, output_tokens: 18, total_tokens: 45 });
  const { out, err } = await eachOnce(openai, batch, names(10));
  expect(out[0]).toMatchObject({ custom_id: "r0", error: null, response: { status_code: 200, body: { of: "r0" } } });
  expect(err).toMatchObject([
    { custom_id: "r3", error: null, response: { status_code: 400, body: { error: { message: "no such thing" } } } },
  ]);
  expect(out[0].id).toMatch(/^batch_req_/);
  const job = await world.ok("GET", `/api/jobs/${out[0].response.request_id}`);
  expect(job).toMatchObject({ batch: batch.id, custom_id: "r0", status: "completed", api: "chat/completions" });
  const own = await world.ok("GET", `/api/batches/${batch.id}`);
  expect(own).toMatchObject({ total: 10, waiting: 0, running: 0, completed: 9, failed: 1, cancelled: 0 });
  expect(own).toMatchObject({
    workers: [{ instance: "w1", completed: 9 }],
    errors: [{ code: "bad_request", count: 1 }],
  });
  const listed: string[] = [];
  for await (const one of openai.batches.list({ limit: 1 })) listed.push(one.id);
  for (const after of ["batch_none", "nonsense"]) {
    for (const list of ["batches", "files"])
      expect((await world.get(`/v1/${list}?after=${after}`)).body.error).toMatchObject({ code: "not_found" });
  }
  for (const list of ["batches", "files"]) {
    const { data } = await world.ok("GET", `/v1/${list}`);
    expect((await world.ok("GET", `/v1/${list}?after=`)).data).toEqual(data);
  }
  expect(listed).toEqual([batch.id]);
  const asked = { input_file_id: batch.output_file_id, endpoint: "/v1/chat/completions", completion_window: "24h" };
  const refused = await world.post("/v1/batches", asked);
  expect([refused.status, refused.body.error.param]).toEqual([400, "input_file_id"]);
  await worker.stop();
});

/** A file is read 500 lines at a time. */
const LINES = 600;

it("runs more lines than it reads at a time, with a window of them open, and every range of its files can be read", async () => {
  const world = await newWorld();
  const openai = clientOf(world.key);
  const worker = await batchWorker(world);
  const batch = await whenEnded(openai, (await begin(openai, numbered(LINES))).id);
  expect(batch).toMatchObject({ status: "completed", request_counts: { total: LINES, completed: LINES, failed: 0 } });
  await eachOnce(openai, batch, names(LINES));
  expect(new Set(worker.jobs.map(({ id }) => id)).size).toBe(LINES);
  const whole = await (await openai.files.content(batch.output_file_id ?? "")).text();
  const file = await openai.files.retrieve(batch.output_file_id ?? "");
  expect(file).toMatchObject({ purpose: "batch_output", bytes: whole.length, status: "processed" });
  for (const [from, to] of [
    [0, 9],
    [100, 100],
    [5_000, 90_000],
    [whole.length - 7, whole.length - 1],
  ] as const) {
    const headers = { authorization: `Bearer ${world.key}`, range: `bytes=${from}-${to}` };
    const part = await edgeFetch(`${ORIGIN}/v1/files/${file.id}/content`, { headers });
    expect([part.status, await part.text()]).toEqual([206, whole.slice(from, to + 1)]);
  }
  await worker.stop();
});

it("names what is wrong with each line, and runs none", async () => {
  const world = await newWorld();
  const openai = clientOf(world.key);
  const worker = await batchWorker(world);
  const lines = [
    line("a"),
    "no json",
    line("a"),
    line("b", {}, { url: "/v1/embeddings" }),
    line("c", {}, { method: "GET" }),
    line("", {}),
    line("d", { model: undefined }),
    line("e", { stream: true }),
    "",
    "[]",
    line("f", { edge: "off" }),
    line("g", { Model: "m2" }),
  ];
  const batch = await whenEnded(openai, (await begin(openai, lines)).id);
  expect(batch.status).toBe("failed");
  expect(batch.errors?.data?.map(({ code, line: at }) => [code, at])).toEqual([
    ["invalid_json_line", 2],
    ["duplicate_custom_id", 3],
    ["mismatched_url", 4],
    ["invalid_method", 5],
    ["invalid_custom_id", 6],
    ["missing_model", 7],
    ["stream_not_supported", 8],
    ["invalid_json_line", 10],
    ["unsupported_parameter", 11],
    ["unsupported_parameter", 12],
  ]);
  expect(batch.errors?.data?.find(({ code }) => code === "missing_model")?.message).toBe("body.model is missing");
  expect(worker.jobs).toEqual([]);
  const empty = await whenEnded(openai, (await begin(openai, ["", " "])).id);
  expect(empty.errors?.data).toMatchObject([{ code: "empty_file", line: null }]);
  await worker.stop();
});

it("of responses gives the runtime whole requests, and refuses those that follow another", async () => {
  const world = await newWorld();
  const openai = clientOf(world.key);
  const worker = await batchWorker(world);
  const url = "/v1/responses";
  const asking = (id: string, body: object) =>
    line(id, { messages: undefined, input: "hi", conversation: null, ...body }, { url });
  const following = [
    asking("a", { conversation: { id: "conv_1" } }),
    asking("b", { previous_response_id: "resp_1" }),
    asking("c", { input: ["hi", { type: "item_reference", id: "msg_1" }] }),
  ];
  const refused = await whenEnded(openai, (await begin(openai, following, { endpoint: url })).id);
  expect(refused.errors?.data?.map(({ code, param }) => [code, param])).toEqual([
    ["unsupported_parameter", "body.conversation"],
    ["unsupported_parameter", "body.previous_response_id"],
    ["unsupported_parameter", "body.input"],
  ]);
  const remembered = { background: true, background_options: { completion_window: "2h" }, store: true };
  const whole = await begin(openai, [asking("c", remembered)], { endpoint: url });
  expect((await whenEnded(openai, whole.id)).request_counts).toEqual({ total: 1, completed: 1, failed: 0 });
  expect(worker.jobs.map(({ input }) => input)).toEqual([
    { model: "m1", input: "hi", conversation: null, store: false },
  ]);
  await worker.stop();
});

it("keeps what was answered when it is cancelled, and says of the rest that it was", async () => {
  const world = await newWorld();
  const openai = clientOf(world.key);
  const held: Body[] = [];
  const worker = await batchWorker(
    world,
    (job) => {
      if (Number(job.custom_id.slice(1)) < 20) return { result: { of: job.custom_id } };
      held.push(job);
      return null;
    },
    { concurrency: 11 },
  );
  const { id } = await begin(openai, numbered(300));
  await eventually(() => expect(held.length).toBeGreaterThan(5));
  const cancelling = await openai.batches.cancel(id);
  expect(cancelling.status).toBe("cancelling");
  expect(await openai.batches.cancel(id)).toMatchObject({ status: "cancelling" });
  await worker.stop();
  const [last, ...others] = held;
  await world.ok("POST", `/api/jobs/${last?.id}/complete`, { lease: last?.lease, result: { late: true } });
  for (const job of others) await world.post(`/api/jobs/${job.id}/cancel`);
  const batch = await whenEnded(openai, id);
  expect(batch.status).toBe("cancelled");
  const { out, err } = await eachOnce(openai, batch, names(300));
  expect(namesIn(out)).toContain(last?.custom_id);
  expect(batch.request_counts).toEqual({ total: 300, completed: out.length, failed: 0 });
  for (const one of err) expect(one).toMatchObject({ response: null, error: { code: "batch_cancelled" } });
  await expect(openai.batches.cancel(id)).resolves.toMatchObject({ status: "cancelled" });
});
