// Webhooks as their receiver sees them, checked with the standard's package, against the self-hosted server.

import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { sendDelivery } from "../../durable-objects/effects/webhook-sender.ts";
import { type Body, send, succeed } from "../support/requests.ts";
import { type SelfHosted, startSelfHosted } from "../support/self-hosted.ts";
import { folderForAllTests } from "../support/temporary-folder.ts";
import { openReceiver, type Receiver } from "./receiver.ts";

const data = folderForAllTests();
let server: SelfHosted;
let receiver: Receiver;

const start = () => startSelfHosted(data.path, { env: { SERVICE_WEBHOOKS_PRIVATE: "1" } });

beforeAll(async () => {
  server = await start();
  receiver = await openReceiver();
}, 90_000);

afterAll(async () => {
  await server.kill();
  await receiver.close();
});

test.each([
  ["7", 7_000],
  ["1000000000000", 1e15],
  ["soon", null],
])("an endpoint's Retry-After of %s is a wait of %s ms", async (value, retryAfterMs) => {
  const fetch = async () => new Response(null, { status: 503, headers: { "retry-after": value } });
  const settle = vi.fn(async () => undefined);
  const outgoing = {
    id: "msg_1",
    webhookId: "wh_1",
    url: "https://x.example",
    secrets: [],
    traceparent: null,
    body: "",
  };
  await sendDelivery({ fetch, now: () => 0, settle }, outgoing);
  expect(settle).toHaveBeenCalledWith("msg_1", expect.objectContaining({ status: 503, retryAfterMs }));
});

const call = async (method: string, route: string, body?: unknown, expected?: number): Promise<Body> => {
  const at = { url: server.url, key: server.adminKey };
  if (expected === undefined) return succeed(at, method, route, body);
  const answer = await send(at, method, route, body);
  expect(answer.status).toBe(expected);
  return answer.body;
};

const hook = (events: string[], more: object = {}): Promise<Body> =>
  call("POST", "/api/webhooks", { url: receiver.url, events, ...more }, 201);

const deliveriesOf = async (id: string): Promise<Body[]> =>
  (await call("GET", `/api/webhooks/${id}/deliveries`)).deliveries;

const untilDelivery = async (id: string, matches: (delivery: Body) => boolean): Promise<Body> => {
  for (let tries = 0; tries < 1_250; tries += 1) {
    const found = (await deliveriesOf(id)).find(matches);
    if (found !== undefined) return found;
    await sleep(20);
  }
  throw new Error(`no such delivery: ${JSON.stringify(await deliveriesOf(id))}`);
};

const runOneJob = async (tags: string[] = []): Promise<string> => {
  await call("POST", "/presence", { instance: "w", provider: "p", status: "online", tags: "eu", concurrency: 100 });
  const job = await call("POST", "/dispatch", { prompt: "a secret prompt", tags });
  const report = { lease: job.lease, result: "a secret result", cost_usd: 0.25 };
  await call("POST", `/api/jobs/${job.id}/complete`, report);
  return job.id;
};

beforeEach(async () => {
  receiver.answerWith(200);
  receiver.received.length = 0;
  for (const { id } of (await call("GET", "/api/webhooks")).webhooks) await call("DELETE", `/api/webhooks/${id}`);
});

test("a finished job is told once, signed as the standard says, without its prompt or its result", async () => {
  const made = await hook(["job.completed"]);
  expect(made.secret).toMatch(/^whsec_/);
  const id = await runOneJob();
  const [message] = await receiver.next("job.completed");
  expect(message?.told.data).toMatchObject({
    id,
    status: "completed",
    cost_usd: 0.25,
    url: `${server.url}/api/jobs/${id}`,
  });
  expect(message?.body).not.toContain("secret prompt");
  expect(message?.body).not.toContain("secret result");
  const verified = new Webhook(made.secret).verify(message?.body ?? "", message?.headers as Record<string, string>);
  expect(verified).toMatchObject({ type: "job.completed" });
  const delivery = await untilDelivery(made.id, ({ status }) => status === "delivered");
  expect(delivery).toMatchObject({ event: "job.completed", attempts: 1, response_status: 200, next_attempt_at: null });
  expect(message?.headers["webhook-id"]).toBe(delivery.id);
  const later = await runOneJob();
  const told = await receiver.next("job.completed", 2);
  expect(told.map((one) => one.told.data.id)).toEqual([id, later]);
  expect(JSON.stringify(await call("GET", "/api/webhooks"))).not.toContain("whsec_");
});

test("a body is below 20 kB, however long its job's metadata, error and files are", async () => {
  await hook(["job.failed"]);
  await call("POST", "/presence", { instance: "w", provider: "p", status: "online", tags: "", concurrency: 100 });
  const named = Array.from({ length: 16 }, (_, index) => [`${"€".repeat(60)}${index}`, "€".repeat(256)]);
  const job = await call("POST", "/dispatch", { prompt: "p", metadata: Object.fromEntries(named) });
  const error = { code: "broken", message: "€".repeat(8_000), retryable: false };
  await call("POST", `/api/jobs/${job.id}/fail`, { lease: job.lease, error });
  const [message] = await receiver.next("job.failed");
  expect(Buffer.byteLength(message?.body ?? "")).toBeLessThan(20_000);
  const { id, metadata, url } = message?.told.data ?? {};
  expect([id, url]).toEqual([job.id, `${server.url}/api/jobs/${job.id}`]);
  expect(metadata).toEqual(Object.fromEntries(named));
});

test("after a rotation both secrets verify, and the list of signatures bears both", async () => {
  const made = await hook(["job.completed"]);
  const rotated = await call("POST", `/api/webhooks/${made.id}/rotate`);
  expect(rotated.secret).not.toBe(made.secret);
  await call("POST", `/api/webhooks/${made.id}/test`);
  const [message] = await receiver.next("webhook.test");
  const headers = message?.headers as Record<string, string>;
  for (const secret of [made.secret, rotated.secret]) new Webhook(secret).verify(message?.body ?? "", headers);
  expect(headers["webhook-signature"]?.split(" ")).toHaveLength(2);
});

test("a failed try comes again with the same id, and an operator can ask for it at once", async () => {
  receiver.answerWith(500);
  const made = await hook(["job.completed"]);
  await runOneJob();
  const failed = await untilDelivery(made.id, ({ attempts }) => attempts > 0);
  expect(failed).toMatchObject({ status: "pending", response_status: 500 });
  expect(Date.parse(failed.next_attempt_at) - Date.parse(failed.at)).toBeGreaterThan(2_000);
  receiver.answerWith(200);
  await call("POST", `/api/webhooks/deliveries/${failed.id}/redeliver`);
  await untilDelivery(made.id, ({ status }) => status === "delivered");
  const ids = receiver.toldOf("job.completed").map(({ headers }) => headers["webhook-id"]);
  expect(new Set(ids)).toEqual(new Set([failed.id]));
});

test("a redirect is not followed, and 410 disables the webhook, which its record and the audit say", async () => {
  receiver.answerWith(302);
  const made = await hook(["job.completed"]);
  await runOneJob();
  const moved = await untilDelivery(made.id, ({ attempts }) => attempts > 0);
  expect(moved).toMatchObject({ status: "pending", response_status: 302 });
  expect(receiver.received.every(({ path: asked }) => asked === "/hook")).toBe(true);
  receiver.answerWith(410);
  await call("POST", `/api/webhooks/deliveries/${moved.id}/redeliver`);
  await untilDelivery(made.id, ({ status }) => status === "failed");
  const record = await call("GET", `/api/webhooks/${made.id}`);
  expect(record).toMatchObject({ enabled: false, disabled_reason: "the endpoint answered 410 Gone" });
  const { entries } = await call("GET", "/api/audit");
  expect(entries[0]).toMatchObject({ action: "webhook.disabled", target: made.id });
  const again = await call("PATCH", `/api/webhooks/${made.id}`, { enabled: true });
  expect(again).toMatchObject({ enabled: true, disabled_reason: null });
});

describe("other events", () => {
  test("a paused worker, the killswitch and its clearing are told; at level 4 only the killswitch's own", async () => {
    await hook(["worker.paused", "killswitch.activated", "killswitch.cleared", "job.cancelled"]);
    await call("POST", "/presence", { instance: "w", provider: "p", status: "online", tags: "" });
    await call("POST", "/api/workers/w/pause", { reason: "maintenance" });
    const [paused] = await receiver.next("worker.paused");
    expect(paused?.told.data).toMatchObject({ target: "w", reason: "maintenance" });
    await call("POST", "/api/workers/w/resume");
    await call("POST", "/dispatch", { prompt: "to be halted" });
    await call("POST", "/killswitch", { level: 4, reason: "smoke" });
    const [activated] = await receiver.next("killswitch.activated");
    expect(activated?.told.data).toMatchObject({ target: "level 4", level: 4, reason: "smoke" });
    await call("POST", "/killswitch", { level: 4, reason: "again" });
    await receiver.next("killswitch.activated", 2);
    expect(receiver.toldOf("job.cancelled")).toHaveLength(0);
    await call("DELETE", "/killswitch?resume_all=true");
    await receiver.next("killswitch.cleared");
    await receiver.next("job.cancelled");
  });

  test("a worker that falls silent is told once, until it is back", async () => {
    await call("PUT", "/config", { presence: { heartbeat_interval_seconds: 1, offline_after_seconds: 2 } });
    await hook(["worker.offline"]);
    const toldOf = (instance: string) =>
      receiver.toldOf("worker.offline").filter(({ told }) => told.data.instance === instance);
    // The sweeps that find a later worker silent have looked at the first one, too.
    for (const instance of ["silent", "silent-later"]) {
      await call("POST", "/presence", { instance, provider: "p", status: "online", tags: "" });
      await expect.poll(() => toldOf(instance).length).toBeGreaterThan(0);
    }
    expect(toldOf("silent").map(({ told: { data } }) => data.provider)).toEqual(["p"]);
    await call("PUT", "/config", {});
  });
});

test.each([
  ["ftp://hooks.example.com/", 400],
  ["https://user:password@hooks.example.com/", 400],
  ["not a url", 400],
])("the address %s is refused", async (url, status) => {
  await call("POST", "/api/webhooks", { url, events: ["job.completed"] }, status as number);
});

test("an event that was caused before a crash is delivered after it", async () => {
  receiver.answerWith(500);
  const made = await hook(["job.completed"]);
  const id = await runOneJob();
  await untilDelivery(made.id, ({ attempts }) => attempts >= 1);
  await server.kill();
  // The next try may be due while the server starts.
  receiver.answerWith(200);
  receiver.received.length = 0;
  server = await start();
  const [message] = await receiver.next("job.completed");
  expect(message?.told.data.id).toBe(id);
}, 60_000);

test("a delivery that was under way in a crash goes out again as soon as the tenant wakes", async () => {
  receiver.answerWith("never");
  const made = await hook(["job.completed"]);
  const id = await runOneJob();
  await receiver.next("job.completed");
  await server.kill();
  receiver.answerWith(200);
  receiver.received.length = 0;
  server = await start();
  const delivered = await untilDelivery(made.id, ({ status }) => status === "delivered");
  const [message] = await receiver.next("job.completed");
  expect([message?.told.data.id, message?.headers["webhook-id"]]).toEqual([id, delivered.id]);
}, 60_000);
