// A tenant with as much as a large fleet's operator looks at: workers of many kinds, jobs that have ended, failed and
// wait, and one of everything that has a page of its own.

import type { CoordinatorMessage } from "../../contract/socket.ts";
import { callEach, drainHistory, SOCKET_TAG, socketWire, type Tenant } from "../signalbox.ts";
import { SocketWorkers, type Wire } from "../socket-workers.ts";
import { BATCH_JOBS } from "../workplace.ts";
import type { Shown } from "./pages.ts";

/** Of the jobs: the others have ended. */
const WAITING_SHARE = 0.05;
const WAITING_GROUPS = 100;
const AT_A_TIME = 4_000;
const FAILED_EVERY = 20;
const FINISHERS = 8;
const PROVIDERS = ["vllm", "ollama", "llamacpp", "openai", "anthropic"];
const REGIONS = ["eu-west", "eu-north", "us-east", "us-west", "ap-south"];
const MODELS = ["qwen3:14b", "gemma3:27b", "llama3.2:3b", "mistral-small", "nomic-embed-text"];
const OFFLINE_AFTER_SECONDS = 86_400;
const SCHEDULES = 50;
const PAUSED_EVERY = 50;
/** Those that say which models they have. */
const MACHINES = 1_000;

const nth = (all: readonly string[], index: number): string => all[index % all.length] as string;
const workerName = (index: number): string => `gpu-${String(index).padStart(5, "0")}`;

const machineOf = (index: number): object => {
  if (index >= MACHINES) return {};
  const model = nth(MODELS, index);
  return {
    hardware: {
      gpus: [{ name: "A100", total_mb: 81_920, used_mb: (index * 977) % 81_920 }],
      ram_mb: 65_536,
      ram_free_mb: 30_000,
    },
    loaded: [{ model, vram_mb: 9_000 }],
    on_disk: [
      { model, bytes: 9e9 },
      { model: nth(MODELS, index + 1), bytes: 5e9 },
    ],
    can: ["pull", "load", "unload", "delete"],
  };
};

/** Again, it makes them fresh. */
export const registerWorkers = async (tenant: Tenant, count: number): Promise<void> => {
  await callEach(tenant, 1, (connection) =>
    connection.call("PUT", "/config", {
      presence: { offline_after_seconds: OFFLINE_AFTER_SECONDS },
      budget: { day_usd: 500 },
    }),
  );
  await callEach(tenant, count, (connection, index) =>
    connection.call("POST", "/presence", {
      instance: workerName(index),
      provider: nth(PROVIDERS, index),
      tags: `region:${nth(REGIONS, Math.floor(index / 3))},rack-${index % 40}`,
      models: [nth(MODELS, index)],
      concurrency: 1 + (index % 4),
      status: index % 9 === 0 ? "busy" : "online",
      ...machineOf(index),
    }),
  );
  await callEach(tenant, Math.floor(count / PAUSED_EVERY), (connection, index) =>
    connection.call("POST", `/api/workers/${workerName(index * PAUSED_EVERY)}/pause`, {
      reason: "its fan is replaced",
    }),
  );
};

/** Most answer, some fail; what they spent is known. */
const mixedWire = (tenant: Tenant): Wire => {
  const wire = socketWire(tenant);
  let ended = 0;
  return {
    ...wire,
    hello: (instance) => ({
      ...(wire.hello?.(instance) as object),
      provider: nth(PROVIDERS, Number(instance.split("-")[1])),
    }),
    completionOf: (message: CoordinatorMessage) => {
      const done = wire.completionOf(message as never) as { job_id: string; lease: number } | null;
      if (done === null) return null;
      ended += 1;
      const { job_id, lease } = done;
      const spent = {
        usage: { input_tokens: 400 + (ended % 900), output_tokens: 40 + (ended % 300) },
        cost_usd: 0.0004,
      };
      if (ended % FAILED_EVERY !== 0) return { ...done, ...spent };
      const error = {
        code: nth(["context_length", "model_broke"], ended / FAILED_EVERY),
        message: "the runtime says no",
      };
      return { type: "job.failed", id: job_id, job_id, lease, error, ...spent };
    },
  };
};

const createJobs = (tenant: Tenant, count: number, bodyOf: (index: number) => object): Promise<void> =>
  callEach(tenant, Math.ceil(count / BATCH_JOBS), (connection, call) => {
    const jobs = Array.from({ length: Math.min(BATCH_JOBS, count - call * BATCH_JOBS) }, (_, job) =>
      bodyOf(call * BATCH_JOBS + job),
    );
    return connection.call("POST", "/api/jobs/batch", { jobs });
  });

const meeting = (index: number): string => `Summarise the minutes of meeting ${index}.`;

/** Given as fast as they are taken. Returns how long that took, and how far history was behind after it. */
export const endJobs = async (
  tenant: Tenant,
  count: number,
  promptOf = meeting,
): Promise<{ tookMs: number; behindMs: number }> => {
  const startedAt = performance.now();
  const names = Array.from({ length: FINISHERS }, (_, index) => `finisher-${index}`);
  const workers = await SocketWorkers.connect(mixedWire(tenant), names);
  for (let given = 0; given < count; ) {
    const now = Math.min(AT_A_TIME, count - given);
    await createJobs(tenant, now, (index) => ({
      prompt: promptOf(given + index),
      model: nth(MODELS, index),
      tags: [SOCKET_TAG],
      metadata: { team: nth(REGIONS, index) },
    }));
    given += now;
    await workers.settleTo(given, 0);
  }
  const tookMs = performance.now() - startedAt;
  const behindMs = await drainHistory(tenant);
  workers.close();
  return { tookMs, behindMs };
};

/** What has a page of its own. */
const oneOfEach = async (tenant: Tenant): Promise<Omit<Shown, "worker">> => {
  let shown: Omit<Shown, "worker"> | undefined;
  await callEach(tenant, SCHEDULES, (connection, index) =>
    connection.call("POST", "/api/schedules", { name: `nightly-${index}`, cron: "0 3 * * *", prompt: "Reindex." }),
  );
  await callEach(tenant, 1, async (connection) => {
    const called = async <Answer>(method: string, target: string, body?: unknown): Promise<Answer> =>
      (await connection.call(method, target, body)) as Answer;
    const events = ["job.failed"];
    await called("POST", "/api/webhooks", { url: "https://signalbox.invalid/hook", events });
    const { id: subscription } = await called<{ id: string }>("POST", "/catalog/subscriptions", { provider: "openai" });
    const { id: input } = await called<{ id: string }>("POST", "/api/files?name=in.jsonl&purpose=batch", {
      no: "line",
    });
    const asked = { input_file_id: input, endpoint: "/v1/embeddings", completion_window: "24h" };
    const { id: batch } = await called<{ id: string }>("POST", "/v1/batches", asked);
    const list = async (status: string): Promise<string> =>
      (await called<{ jobs: { id: string }[] }>("GET", `/api/jobs?limit=1&status=${status}`)).jobs[0]?.id ?? "";
    shown = {
      subscription,
      batch,
      done: await list("completed"),
      waiting: await list("pending"),
      schedule: "nightly-0",
    };
  });
  if (shown === undefined) throw new Error("nothing was made");
  return shown;
};

/** Jobs before the fleet: a batch's jobs are given to few workers several times as fast as beside ten thousand. */
export const fillTenant = async (tenant: Tenant, workers: number, jobs: number): Promise<Shown> => {
  const waiting = Math.round(jobs * WAITING_SHARE);
  await endJobs(tenant, jobs - waiting);
  // More batches at once would be refused as too many of one key.
  for (let made = 0; made < waiting; made += AT_A_TIME)
    await createJobs(tenant, Math.min(AT_A_TIME, waiting - made), (index) => ({
      prompt: "Waits.",
      tags: [`nobody-${index % WAITING_GROUPS}`],
    }));
  await drainHistory(tenant);
  const shown = await oneOfEach(tenant);
  await registerWorkers(tenant, workers);
  return { ...shown, worker: workerName(1) };
};
