// What an operator sees from outside: a request id links the answer, the log and the job, and a trace links the caller
// and the collector.

import { createServer, type Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { send } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER_SPAN = "b7ad6b7169203331";

interface Attribute {
  readonly key: string;
  readonly value: Record<string, unknown>;
}

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly attributes: readonly Attribute[];
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}

const data = folderForAllTests();
let server: SelfHosted;
let collector: Server;
const collected: { readonly authorization: string | undefined; readonly spans: Span[] }[] = [];

beforeAll(async () => {
  collector = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on("end", () => {
      const { resourceSpans } = JSON.parse(body);
      const spans = resourceSpans[0].scopeSpans[0].spans as Span[];
      collected.push({ authorization: request.headers.authorization, spans });
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  const address = collector.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  server = await startSelfHosted(data.path, {
    env: {
      SERVICE_LOG: "json",
      SERVICE_OTLP_URL: `http://127.0.0.1:${port}/v1/traces`,
      SERVICE_OTLP_HEADERS: "authorization=Bearer%20collector-key",
    },
  });
}, 90_000);

afterAll(async () => {
  await server.stop();
  await new Promise<void>((resolve) => collector.close(() => resolve()));
});

const call = async (method: string, route: string, body?: unknown, headers: Record<string, string> = {}) => {
  const answer = await send({ url: server.url, key: server.adminKey }, method, route, body, { headers });
  return { ...answer, id: answer.headers.get("x-request-id") };
};

const logged = (): Record<string, unknown>[] =>
  server
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const untilLogged = async (matches: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> => {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const found = logged().find(matches);
    if (found !== undefined) return found;
    await sleep(20);
  }
  throw new Error(`no such line in\n${server.output()}`);
};

const register = () =>
  call("POST", "/presence", { instance: "w", provider: "p", status: "online", tags: "", concurrency: 10 });

test("a refused stranger is one line, with the id of the answer and no key", async () => {
  const refused = await call("GET", "/api/jobs", undefined, { authorization: "Bearer nonsense" });
  expect(refused.status).toBe(401);
  const line = await untilLogged(({ request_id }) => request_id === refused.id);
  expect(line).toMatchObject({
    level: "warn",
    event: "request",
    method: "GET",
    route: "/api/jobs",
    status: 401,
    code: "authentication_failed",
  });
  expect(server.output()).not.toContain("nonsense");
});

test("a request that goes well is no line", async () => {
  const fine = await call("GET", "/killswitch");
  expect(fine.status).toBe(200);
  const refused = await call("GET", "/killswitch", undefined, { authorization: "Bearer nonsense" });
  await untilLogged(({ request_id }) => request_id === refused.id);
  expect(logged().filter(({ request_id }) => request_id === fine.id)).toEqual([]);
});

test("a new key, a new config, the killswitch and a worker that comes are lines with who did it", async () => {
  await register();
  await untilLogged(({ event, worker }) => event === "worker.registered" && worker === "w");
  const made = await call("POST", "/api/keys", { name: "ci", role: "standard" });
  const line = await untilLogged(({ event, target }) => event === "key.created" && target === made.body.id);
  expect(line).toMatchObject({ tenant: "default", request_id: made.id });
  expect(server.output()).not.toContain(made.body.key);
  await call("POST", "/killswitch", { level: 1, reason: "smoke" });
  await untilLogged(({ event }) => event === "killswitch.activated");
  await call("DELETE", "/killswitch?resume_all=true");
});

test("the request's id stands in the job's first event, and a failed job is a line with its code", async () => {
  await register();
  const created = await call("POST", "/dispatch", { prompt: "a secret prompt" });
  const { body } = await call("GET", `/api/jobs/${created.body.id}/events`);
  expect(body.events[0]).toMatchObject({ type: "job.created", detail: { request_id: created.id } });
  const report = { lease: created.body.lease, error: { code: "boom", message: "a secret message" } };
  await call("POST", `/api/jobs/${created.body.id}/fail`, report);
  const line = await untilLogged(({ event, job_id }) => event === "job.failed" && job_id === created.body.id);
  expect(line).toMatchObject({ level: "warn", worker: "w", code: "boom", tenant: "default" });
  expect(server.output()).not.toContain("secret");
});

test("each line is an entry, also what workerd says of a webhook's host that nobody knows", async () => {
  const made = await call("POST", "/api/webhooks", { url: "https://nobody.invalid/", events: ["job.cancelled"] });
  const { body } = await call("POST", "/api/jobs", { prompt: "x", tags: ["none"] });
  await call("POST", `/api/jobs/${body.id}/cancel`);
  const tried = async () =>
    (await call("GET", `/api/webhooks/${made.body.id}/deliveries`)).body.deliveries[0]?.attempts;
  await expect.poll(tried).toBeGreaterThan(0);
  await call("DELETE", `/api/webhooks/${made.body.id}`);
  const line = await untilLogged(({ event }) => event === "process.output");
  expect(line).toMatchObject({ level: "warn", what: "workerd", detail: expect.stringContaining("lookup") });
  const [, ...lines] = server
    .output()
    .trimEnd()
    .split(/^Signalbox is ready.*\n(?:(?:Admin|Root) key.*\n)*/m);
  expect(
    lines
      .join("")
      .split("\n")
      .filter((text) => !text.startsWith('{"at":')),
  ).toEqual([]);
});

test("a job's spans join the caller's trace: the job, its time in the queue, its run with tokens", async () => {
  await register();
  const traceparent = `00-${TRACE_ID}-${CALLER_SPAN}-01`;
  const { body: job } = await call("POST", "/dispatch", { prompt: "hello", model: "m" }, { traceparent });
  expect(job.traceparent).toBe(traceparent);
  await call("POST", `/api/jobs/${job.id}/start`, { lease: job.lease });
  await call("POST", `/api/jobs/${job.id}/complete`, {
    lease: job.lease,
    result: "a secret result",
    usage: { input_tokens: 7, output_tokens: 11 },
  });
  const spansOfJob = () => collected.flatMap(({ spans }) => spans).filter(({ traceId }) => traceId === TRACE_ID);
  for (let tries = 0; tries < 1_250 && spansOfJob().length < 3; tries += 1) await sleep(20);
  const [root, queue, run] = spansOfJob();
  expect(spansOfJob().map(({ name }) => name)).toEqual(["signalbox job", "queue", "chat m"]);
  expect(root?.parentSpanId).toBe(CALLER_SPAN);
  expect([queue?.parentSpanId, run?.parentSpanId]).toEqual([root?.spanId, root?.spanId]);
  expect(BigInt(run?.endTimeUnixNano ?? 0) >= BigInt(run?.startTimeUnixNano ?? 1)).toBe(true);
  const value = (key: string) => run?.attributes.find((one) => one.key === key)?.value;
  expect(value("gen_ai.usage.output_tokens")).toEqual({ intValue: "11" });
  expect(value("gen_ai.provider.name")).toEqual({ stringValue: "p" });
  expect(JSON.stringify(collected)).not.toContain("secret");
  expect(collected[0]?.authorization).toBe("Bearer collector-key");
});

test("a failed job that is edited at once has its spans all the same, once", async () => {
  await register();
  const failed = async () => {
    const { body } = await call("POST", "/dispatch", { prompt: "hello" });
    const report = { lease: body.lease, error: { code: "boom", message: "it broke" } };
    await call("POST", `/api/jobs/${body.id}/fail`, report);
    return body;
  };
  const job = await failed();
  expect((await call("PATCH", `/api/jobs/${job.id}`, { priority: "high" })).status).toBe(200);
  const roots = (id: string) =>
    collected
      .flatMap(({ spans }) => spans)
      .filter(({ name, attributes }) => name === "signalbox job" && JSON.stringify(attributes).includes(id));
  await expect.poll(() => roots(job.id).length).toBe(1);
  const run = collected
    .flatMap(({ spans }) => spans)
    .find(({ parentSpanId, name }) => parentSpanId === roots(job.id)[0]?.spanId && name !== "queue");
  expect(run?.attributes).toContainEqual({ key: "error.type", value: { stringValue: "boom" } });
  expect(run?.attributes).toContainEqual({ key: "gen_ai.provider.name", value: { stringValue: "p" } });
  await call("PATCH", `/api/jobs/${job.id}`, { priority: "low" });
  await call("GET", `/api/jobs/${job.id}/events`);
  // Spans are sent in the order in which history gets their jobs.
  const later = await failed();
  await expect.poll(() => roots(later.id).length).toBe(1);
  expect(roots(job.id)).toHaveLength(1);
});
