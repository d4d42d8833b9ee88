// The tenant with one of everything, in which nothing ends by itself: a running job keeps its lease, however long the
// server is down. What was true at the recording is still true after the upgrade.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Client, clientOf, configure } from "./client.ts";
import { FOR_EVER_SECONDS } from "./databases.ts";
import type { Expectations } from "./fixture.ts";

export const DISTANT = "2099-01-01T00:00:00.000Z";

const CONFIG = {
  presence: { forget_after_seconds: FOR_EVER_SECONDS },
  jobs: { timeout_seconds: null, reap_stale_after_seconds: null, max_attempts: 7 },
  routing: { strategy: "fallback", chain: ["main", "priced"], weights: { cost: 3 } },
  providers: {
    limited: { rate_limit: { max_concurrent: 4, retry_after_seconds: 6, max_retries: 5 } },
    priced: { pricing: { "*": { input_per_mtok: 1.25, output_per_mtok: 10, per_request: 0.001 } } },
  },
  budget: { day_usd: 1000, month_usd: 20_000, on_reached: "reject" },
  ollama: { model: "llama3.2" },
};

/** Creates a job and has the worker take it, with a key of its own if it has one. */
export const lease = async (
  client: Client,
  worker: string,
  body: object,
  taker: Client = client,
): Promise<{ job: string; lease: number }> => {
  const { id } = await client.post("/api/jobs", body);
  const { jobs } = await taker.post(`/api/workers/${worker}/claim?wait=5`, {});
  const taken = jobs.find((one: { id: string }) => one.id === id);
  if (taken === undefined) throw new Error(`${worker} did not get job ${id}`);
  return { job: id, lease: taken.lease };
};

const makeKeys = async (admin: Client) => {
  const made = async (name: string, role: string) => (await admin.post("/api/keys", { name, role })) as Made;
  const [second, standard, worker] = [
    await made("second admin", "admin"),
    await made("script", "standard"),
    await made("gpu box", "worker"),
  ];
  const [revoked, rotated] = [await made("left the team", "standard"), await made("rotated", "worker")];
  await admin.call("DELETE", `/api/keys/${revoked.id}`);
  const renewed = (await admin.post(`/api/keys/${rotated.id}/rotate`)) as Made;
  return { second, standard, worker, renewed, ended: [revoked.key, rotated.key] };
};

interface Made {
  readonly id: string;
  readonly key: string;
}

const finishJobs = async (client: Client): Promise<string[]> => {
  const done = await lease(client, "main-1", {
    prompt: "Grüße, 世界 🚦",
    input: { deep: [1, "two", null, { three: 3.5 }] },
    provider: "main",
    priority: "critical",
    tier: "premium",
    tags: ["gpu", "eu"],
  });
  await client.post(`/api/jobs/${done.job}/start`, { lease: done.lease });
  await client.post(`/api/jobs/${done.job}/heartbeat`, { lease: done.lease, progress: { percent: 50 } });
  const usage = { input_tokens: 1000, output_tokens: 200, cached_input_tokens: 100, reasoning_tokens: 50 };
  const report = { lease: done.lease, result: { text: "done" }, usage, cost_usd: 0.123456789, model: "main-large" };
  await client.post(`/api/jobs/${done.job}/complete`, report);

  const priced = await lease(client, "priced-1", { prompt: "priced by config", provider: "priced", model: "p" });
  await client.post(`/api/jobs/${priced.job}/complete`, { lease: priced.lease, result: [null, 0], usage });
  const unpriced = await lease(client, "main-1", { prompt: "of unknown price", provider: "main" });
  await client.post(`/api/jobs/${unpriced.job}/complete`, { lease: unpriced.lease, result: "", usage });
  const failed = await lease(client, "main-1", { prompt: "fails", provider: "main" });
  const error = { code: "out_of_memory", message: "no room", status: 500, retryable: false };
  await client.post(`/api/jobs/${failed.job}/fail`, { lease: failed.lease, error, usage, cost_usd: 0.01 });
  const unwanted = { prompt: "cancelled", provider: "nobody" };
  const created = await client.call("POST", "/api/jobs", unwanted, { "idempotency-key": "once" });
  const cancelled = created.body.id;
  await client.post(`/api/jobs/${cancelled}/cancel`);
  const dispatched = await client.post("/dispatch", { prompt: "dispatched", provider: "main" });
  await client.post(`/api/jobs/${dispatched.id}/complete`, { lease: dispatched.lease, result: "by dispatch" });
  return [done.job, priced.job, unpriced.job, failed.job, cancelled, dispatched.id];
};

const queueJobs = async (client: Client, holder: Client) => {
  const unmatched = await client.post("/api/jobs", { prompt: "for a tpu", provider: "rare", tags: ["tpu"] });
  await client.call("PATCH", `/api/jobs/${unmatched.id}`, { tags: ["tpu", "v5"], priority: "high" });
  const distant = await client.post("/api/jobs", { prompt: "later", provider: "distant", run_at: DISTANT });
  const retried = await lease(client, "priced-1", { prompt: "failed once", provider: "priced", tags: ["gpu"] });
  const broken = { code: "broken", message: "once" };
  await client.post(`/api/jobs/${retried.job}/fail`, { lease: retried.lease, error: broken });
  await client.post("/api/workers/priced-1/pause", { reason: "being repaired" });
  await client.post(`/api/jobs/${retried.job}/retry`);
  const limited = await lease(client, "limited-1", { prompt: "rate limited", provider: "limited" });
  const refused = { code: "rate_limited", message: "slow down", status: 429, retry_after_seconds: 6 };
  await client.post(`/api/jobs/${limited.job}/fail`, { lease: limited.lease, error: refused });
  const held = await lease(client, HOLDER.instance, { prompt: "runs through the upgrade", provider: "holder" }, holder);
  await holder.post(`/api/jobs/${held.job}/start`, { lease: held.lease });
  await holder.post(`/api/jobs/${held.job}/heartbeat`, { lease: held.lease, progress: "half way" });
  return { unmatched: unmatched.id, distant: distant.id, retried: retried.job, limited: limited.job, held };
};

/** A subscription that has seen a model removed, added and changed, from a list on this machine. */
const subscribe = async (admin: Client): Promise<string> => {
  const lists = [
    { models: [{ name: "kept", details: { context_length: 4096 } }, { name: "gone" }] },
    { models: [{ name: "kept", details: { context_length: 8192 } }, { name: "new" }] },
  ];
  let list = lists[0];
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json").end(JSON.stringify(list));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const wanted = { provider: "ollama", models_sync_url: `http://127.0.0.1:${port}/api/tags` };
    const { id } = await admin.post("/catalog/subscriptions", wanted);
    await admin.post(`/catalog/subscriptions/${id}/sync`);
    list = lists[1];
    await admin.post(`/catalog/subscriptions/${id}/sync`);
    return id;
  } finally {
    server.close();
  }
};

const WORKERS = [
  { instance: "main-1", provider: "main", tags: "gpu, eu", tier: "premium", version: "9.9", concurrency: 3 },
  { instance: "priced-1", provider: "priced", tags: "gpu" },
  { instance: "limited-1", provider: "limited", tags: "", models: null },
];
/** The worker that a worker key acts for. */
const HOLDER = { instance: "holder-1", provider: "holder", tags: "a,b", models: ["one", "two"] };

export const makeSteady = async (url: string, admin: Client) => {
  await configure(admin, CONFIG);
  const keys = await makeKeys(admin);
  for (const worker of WORKERS) await admin.post("/presence", { status: "online", ...worker });
  const holder = clientOf(url, keys.worker.key);
  await holder.post("/presence", { status: "online", ...HOLDER });
  const finished = await finishJobs(admin);
  const queued = await queueJobs(admin, holder);
  await admin.post("/api/workers/limited-1/pause", { reason: "until a distant day", until: DISTANT });
  await admin.post("/api/workers/main-1/pause");
  const subscription = await subscribe(admin);
  await clientOf(url, admin.key).post("/session", { key: admin.key });
  const jobs = [...finished, queued.unmatched, queued.distant, queued.retried, queued.limited, queued.held.job];
  const paths = [
    ...jobs.flatMap((id) => [`/api/jobs/${id}`, `/api/jobs/${id}/events`]),
    "/api/jobs?limit=200",
    "/api/jobs?status=completed",
    "/api/jobs?provider=main",
    "/api/workers",
    ...[...WORKERS, HOLDER].map(({ instance }) => `/api/workers/${instance}`),
    ...["/api/keys", "/config", "/killswitch", "/api/audit?limit=200", "/api/schedules"],
    ...["/catalog/subscriptions", `/catalog/subscriptions/${subscription}/models`],
  ];
  const reads = paths.map((path) => ({ client: admin, path }));
  reads.push({ client: clientOf(url, keys.second.key), path: "/api/keys" });
  reads.push({ client: clientOf(url, keys.standard.key), path: "/api/jobs?status=failed" });
  reads.push({ client: clientOf(url, keys.worker.key), path: "/config" });
  reads.push({ client: clientOf(url, keys.renewed.key), path: "/config" });
  const steady = {
    admin_key: admin.key,
    worker_key: keys.worker.key,
    held: { ...queued.held, worker: HOLDER.instance },
    paused_worker: "main-1",
    unmatched: { job: queued.unmatched, provider: "rare", tag: "tpu,v5" },
    backed_off: { job: queued.limited, provider: "limited" },
    distant: { job: queued.distant, provider: "distant" },
  } satisfies Partial<Expectations["steady"]>;
  return { steady, ended: keys.ended, reads };
};
