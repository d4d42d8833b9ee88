// The tenant with what came after 0.1.0: files, batches, stored responses, webhooks, models on machines. Some of it is
// under way when the server is killed, and goes on after the upgrade.

import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { type Client, configure } from "./client.ts";
import { FOR_EVER_SECONDS } from "./databases.ts";
import type { Expectations } from "./fixture.ts";

type Later = NonNullable<Expectations["later"]>;

const MODEL = "m1";
const CONFIG = {
  presence: { forget_after_seconds: FOR_EVER_SECONDS },
  jobs: { timeout_seconds: null, reap_stale_after_seconds: null },
  front_door: { aliases: { house: [{ model: MODEL }, { model: "m2" }] } },
  providers: { openai: { edge: { enabled: true, models: ["gpt-5-mini"] } } },
};
export const WORKER = {
  instance: "gpu-1",
  provider: "local",
  status: "online",
  tags: "gpu",
  concurrency: 20,
  models: [MODEL, "owner/m3"],
  apis: ["chat/completions", "responses", "messages"],
  hardware: {
    gpus: [{ name: "a gpu", total_mb: 24_000, used_mb: 8_000, utilization: 0.5 }],
    ram_mb: 64_000,
    ram_free_mb: 50_000,
  },
  loaded: [{ model: MODEL, vram_mb: 8_000 }],
  on_disk: [{ model: MODEL, bytes: 4e9 }],
  max_loaded: 2,
  can: ["pull", "load", "unload", "delete"],
};
const POLL_MS = 100;
const NIGHT_WORKER = { instance: "night-1", provider: "night", status: "online", tags: "" };

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const chat = (content: string) => ({ model: MODEL, messages: [{ role: "user", content }] });
const USAGE = { input_tokens: 10, output_tokens: 5 };

export interface Taken {
  readonly id: string;
  readonly lease: number;
  readonly api: string | null;
  readonly custom_id: string | null;
}

/** What the worker's runtime would answer to a request of that API. */
const answerTo = ({ api, id }: Taken): object => {
  const text = `the answer of ${id}`;
  if (api === "responses") {
    const message = { type: "message", id: `msg_${id}`, role: "assistant", status: "completed" };
    const output = [{ ...message, content: [{ type: "output_text", text, annotations: [] }] }];
    return { id, object: "response", created_at: 1, status: "completed", model: MODEL, output };
  }
  if (api === "messages") {
    const content = [{ type: "text", text }];
    return { id, type: "message", role: "assistant", model: MODEL, content, stop_reason: "end_turn", usage: USAGE };
  }
  const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
  return { id, object: "chat.completion", created: 1, model: MODEL, choices };
};

export const complete = (client: Client, taken: Taken) =>
  client.post(`/api/jobs/${taken.id}/complete`, {
    lease: taken.lease,
    result: answerTo(taken),
    usage: USAGE,
    cost_usd: 0.01,
    model: MODEL,
  });

/** Takes what waits until so many jobs are taken, and starts them. */
const takeJobs = async (client: Client, count: number): Promise<Taken[]> => {
  const taken: Taken[] = [];
  while (taken.length < count) {
    const asked = `/api/workers/${WORKER.instance}/claim?wait=20`;
    const { jobs } = await client.post(asked, { max: count - taken.length });
    if (jobs.length === 0) throw new Error(`only ${taken.length} of ${count} jobs came`);
    for (const { id, lease } of jobs as Taken[]) {
      const { api, custom_id } = await client.post(`/api/jobs/${id}/start`, { lease });
      taken.push({ id, lease, api, custom_id });
    }
  }
  return taken;
};

export const take = async (client: Client): Promise<Taken> => (await takeJobs(client, 1))[0] as Taken;

const upload = async (client: Client, name: string, bytes: Uint8Array, purpose: string): Promise<string> => {
  const asked = `/api/files?name=${name}&purpose=${purpose}&expires_after_seconds=2592000`;
  const answer = await client.send("POST", asked, bytes);
  if (answer.status !== 201) throw new Error(`${name} was refused: ${await answer.text()}`);
  return ((await answer.json()) as { id: string }).id;
};

export const download = async (client: Client, id: string): Promise<Uint8Array> =>
  (await client.send("GET", `/api/files/${id}/content`)).bytes();

const makeBatch = async (client: Client, names: readonly string[]): Promise<string> => {
  const line = (name: string) => ({ custom_id: name, method: "POST", url: "/v1/chat/completions", body: chat(name) });
  const text = names.map((name) => `${JSON.stringify(line(name))}\n`).join("");
  const input = await upload(client, "lines.jsonl", new TextEncoder().encode(text), "batch");
  const asked = { input_file_id: input, endpoint: "/v1/chat/completions", completion_window: "7d" };
  return (await client.post("/v1/batches", asked)).id;
};

/** A batch once it has ended. */
export const untilEnded = async (client: Client, batch: string) => {
  for (;;) {
    const now = await client.get(`/api/batches/${batch}`);
    if (now.ended_at !== null) return now;
    await pause(POLL_MS);
  }
};

const askInBackground = async (client: Client, more: object = {}): Promise<string> =>
  (await client.post("/v1/responses", { model: MODEL, input: "say hello", background: true, ...more })).id;

/** A request of a client with limits, by an alias, whose answer it waits for. */
const spend = async (admin: Client, clientOf: (key: string) => Client): Promise<void> => {
  const limits = { day_usd: 5, requests_per_minute: 1_000, models: ["house"] };
  const { key } = await admin.post("/api/keys", { name: "an app", role: "client", limits });
  const answer = clientOf(key).post("/v1/chat/completions", { ...chat("hello"), model: "house" });
  await complete(admin, await take(admin));
  await answer;
};

export const makeLater = async (admin: Client, clientOf: (key: string) => Client) => {
  await configure(admin, CONFIG);
  await admin.post("/presence", WORKER);
  await admin.post("/presence", NIGHT_WORKER);
  const hours = { hours: "Mon-Fri 19:00-07:00", timezone: "Europe/Berlin" };
  await admin.call("PUT", `/api/workers/${NIGHT_WORKER.instance}/hours`, hours);
  await admin.call("PUT", "/api/provider-keys/openai", { key: "no-provider-knows-this" });
  const hook = { url: "https://nowhere.invalid/hook", events: ["job.completed", "batch.completed"] };
  const webhook = await admin.post("/api/webhooks", hook);
  await admin.post(`/api/webhooks/${webhook.id}/test`);

  const long = new TextEncoder().encode("a line of a long file\n".repeat(30_000));
  const files: { id: string; sha256: string }[] = [];
  for (const [name, bytes] of [["short.txt", new TextEncoder().encode("Grüße")] as const, ["long.txt", long] as const])
    files.push({ id: await upload(admin, name, bytes, "user_data"), sha256: sha256(bytes) });
  const [short = { id: "" }] = files;
  const { id: withFile } = await admin.post("/api/jobs", { prompt: "read it", provider: "nobody", files: [short.id] });

  await spend(admin, clientOf);
  const first = await askInBackground(admin);
  await complete(admin, await take(admin));
  const messages = { custom_id: "a", params: { ...chat("hello"), max_tokens: 10 } };
  const { id: messageBatch } = await admin.post("/v1/messages/batches", { requests: [messages] });
  await complete(admin, await take(admin));
  await untilEnded(admin, messageBatch);
  const endedBatch = await makeBatch(admin, ["only"]);
  await complete(admin, await take(admin));
  const ended = await untilEnded(admin, endedBatch);
  const output = { id: ended.output_file, sha256: sha256(await download(admin, ended.output_file)) };

  const second = await askInBackground(admin, { input: "and again", previous_response_id: first });
  const answering = await take(admin);
  const lines = ["one", "two", "three", "four"];
  const batch = await makeBatch(admin, lines);
  const [done, failed, held] = (await takeJobs(admin, 3)) as [Taken, Taken, Taken];
  await complete(admin, done);
  const error = { code: "bad_request", message: "no", status: 400, retryable: false };
  await admin.post(`/api/jobs/${failed.id}/fail`, { lease: failed.lease, error });
  const { task } = await admin.post(`/api/workers/${WORKER.instance}/models`, { action: "pull", model: "m9" });
  await admin.post(`/api/model-tasks/${task.id}/progress`, { stage: "pulling", completed_bytes: 1, total_bytes: 9 });

  const paths = [
    ...["/config", "/api/files", "/api/workers", "/api/provider-keys", "/api/keys"],
    ...[...files.map(({ id }) => id), output.id].map((id) => `/api/files/${id}`),
    ...[messageBatch, endedBatch].map((id) => `/api/batches/${id}`),
    `/v1/messages/batches/${messageBatch}`,
    `/v1/batches/${endedBatch}`,
    `/v1/responses/${first}`,
    `/v1/responses/${first}/input_items`,
    `/api/jobs/${withFile}`,
    `/api/jobs/${failed.id}`,
  ];
  const later: Later = {
    key: admin.key,
    files: [...files, output],
    batch: { id: batch, failed: [failed.custom_id ?? ""], lines, held },
    response: { id: second, follows: first, held: answering },
    task: task.id,
  };
  return { later, reads: paths.map((path) => ({ client: admin, path })) };
};
