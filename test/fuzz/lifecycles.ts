// The lifecycle of each resource from its first request to its last, step by step with real ids and leases: a fuzzer
// without this knowledge would reach these states only by chance.

import { setTimeout as pause } from "node:timers/promises";
import type { Role } from "./world.ts";

export interface Step {
  /** As in the document: `POST /api/jobs/{id}/start`. */
  readonly operation: string;
  readonly id?: string;
  /** Where the path has more than one name. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
  readonly role?: Role;
  readonly headers?: Readonly<Record<string, string>>;
  readonly status: number;
}

type Answer = Record<string, unknown> & { readonly id: string; readonly lease: number };
/** Sends the request, checks the status and all promises, and returns the answer. */
export type Take = (step: Step) => Promise<Answer>;

const WORKER = { instance: "story", provider: "story", status: "online", tags: "story", concurrency: 10 };
const JOB = { prompt: "a job", provider: "story", tags: ["story"] };

export const lifeOfAJob = async (take: Take): Promise<void> => {
  const headers = { "idempotency-key": "story-1" };
  const created = await take({ operation: "POST /api/jobs", body: JOB, headers, status: 201 });
  const { id } = created;
  await take({ operation: "POST /api/jobs", body: JOB, headers, status: 201 });
  await take({ operation: "POST /api/jobs", body: { ...JOB, prompt: "another" }, headers, status: 422 });
  await take({ operation: "PATCH /api/jobs/{id}", id, body: { priority: "high" }, status: 200 });
  await take({ operation: "GET /dispatch/explain", query: `job_id=${id}`, status: 200 });
  await take({ operation: "POST /presence", body: WORKER, role: "worker", status: 200 });
  const claim = { operation: "POST /api/workers/{instance}/claim", id: WORKER.instance } as const;
  const claimed = (await take({ ...claim, body: { max: 1 }, role: "worker", status: 200 })).jobs as Answer[];
  const lease = claimed[0]?.lease;
  const report = { id, role: "worker" } as const;
  await take({ operation: "POST /api/jobs/{id}/start", ...report, body: { lease }, status: 200 });
  await take({
    operation: "POST /api/jobs/{id}/heartbeat",
    ...report,
    body: { lease, progress: { at: 0.5 } },
    status: 200,
  });
  await take({ operation: "POST /api/jobs/{id}/retry", id, status: 409 });
  const error = { code: "broken", message: "it broke", retryable: false };
  await take({ operation: "POST /api/jobs/{id}/fail", ...report, body: { lease, error }, status: 200 });
  await take({ operation: "POST /api/jobs/{id}/retry", id, status: 200 });
  await take({ operation: "POST /api/jobs/{id}/complete", ...report, body: { lease, result: 1 }, status: 409 });
  const again = (await take({ ...claim, status: 200, role: "worker" })).jobs as Answer[];
  const next = again[0]?.lease;
  const reason = "not now";
  await take({ operation: "POST /api/jobs/{id}/release", ...report, body: { lease: next, reason }, status: 200 });
  const last = ((await take({ ...claim, status: 200, role: "worker" })).jobs as Answer[])[0]?.lease;
  const stored = { operation: "PUT /api/jobs/{id}/result", query: `lease=${last}`, body: { text: "done" } };
  await take({ ...report, ...stored, status: 201 });
  const usage = { input_tokens: 3, output_tokens: 4 };
  const result = { text: "done" };
  await take({
    operation: "POST /api/jobs/{id}/complete",
    ...report,
    body: { lease: last, result, usage },
    status: 200,
  });
  await take({ operation: "PATCH /api/jobs/{id}", id, body: { priority: "low" }, status: 409 });
  await take({ operation: "POST /api/jobs/{id}/cancel", id, status: 409 });
  await take({ operation: "GET /api/jobs/{id}", id, query: "wait=1", status: 200 });
  await take({ operation: "GET /api/jobs/{id}/events", id, status: 200 });
  const dispatched = await take({ operation: "POST /dispatch", body: JOB, status: 200 });
  await take({ operation: "POST /api/jobs/{id}/cancel", id: dispatched.id, status: 200 });
  await take({ operation: "POST /dispatch", body: { prompt: "x", tags: ["nobody"] }, status: 503 });
  await take({
    operation: "POST /dispatch",
    query: "queue=true",
    body: { prompt: "x", tags: ["nobody"] },
    status: 202,
  });
  await take({ operation: "POST /api/jobs/batch", body: { jobs: [JOB, JOB] }, status: 201 });
  const filter = { tag: "nobody" };
  await take({ operation: "POST /api/jobs/bulk", body: { action: "cancel", filter }, status: 200 });
};

export const lifeOfAWorker = async (take: Take): Promise<void> => {
  const presence = { heartbeat_interval_seconds: 0.1, offline_after_seconds: 0.2 };
  const body = { ...WORKER, instance: "brief" };
  const worker = { id: body.instance } as const;
  await take({ operation: "POST /presence", body, status: 200 });
  await take({ operation: "DELETE /api/workers/{instance}", ...worker, status: 409 });
  await take({ operation: "POST /api/workers/{instance}/pause", ...worker, body: { reason: "rest" }, status: 200 });
  await take({ operation: "GET /api/workers/{instance}", ...worker, status: 200 });
  await take({ operation: "POST /api/workers/{instance}/resume", ...worker, status: 200 });
  await take({ operation: "PUT /config", body: { presence }, status: 200 });
  const list = async () => (await take({ operation: "GET /presence", status: 200 })).workers as { instance: string }[];
  while ((await list()).some(({ instance }) => instance === body.instance)) await pause(50);
  await take({ operation: "DELETE /api/workers/{instance}", ...worker, status: 204 });
  await take({ operation: "GET /api/workers/{instance}", ...worker, status: 404 });
  await take({ operation: "PUT /config", body: {}, status: 200 });
};

export const lifeOfAModelTask = async (take: Take): Promise<void> => {
  const worker = { ...WORKER, instance: "keeper", can: ["pull", "load"] };
  const asked = { operation: "POST /api/workers/{instance}/models", id: worker.instance } as const;
  const taskOf = async (model: string): Promise<string> => {
    const { task } = await take({ ...asked, body: { action: "pull", model }, status: 202 });
    return (task as { id: string }).id;
  };
  await take({ operation: "POST /presence", body: worker, role: "worker", status: 200 });
  await take({ ...asked, body: { action: "delete", model: "m" }, status: 409 });
  const report = { id: await taskOf("m"), role: "worker" } as const;
  const body = { completed_bytes: 1, total_bytes: 2, stage: "pulling" };
  await take({ operation: "POST /api/model-tasks/{id}/progress", ...report, body, status: 200 });
  await take({ operation: "POST /api/model-tasks/{id}/done", ...report, body: {}, status: 200 });
  await take({ operation: "POST /api/model-tasks/{id}/progress", ...report, body, status: 409 });
  await take({ operation: "POST /api/model-tasks/{id}/cancel", id: await taskOf("other"), status: 200 });
};

export const lifeOfASchedule = async (take: Take): Promise<void> => {
  const schedule = { name: "story", cron: "0 9 * * 1", prompt: "weekly" };
  const named = { id: schedule.name } as const;
  await take({ operation: "POST /api/schedules/preview", body: schedule, status: 200 });
  await take({ operation: "POST /api/schedules", body: schedule, status: 201 });
  await take({ operation: "POST /api/schedules", body: schedule, status: 409 });
  await take({ operation: "GET /api/schedules/{name}", ...named, status: 200 });
  await take({ operation: "POST /api/schedules/{name}/run", ...named, status: 200 });
  await take({ operation: "PUT /api/schedules/{name}", ...named, body: { status: "paused" }, status: 200 });
  await take({ operation: "GET /api/schedules/{name}/history", ...named, status: 200 });
  await take({ operation: "DELETE /api/schedules/{name}", ...named, status: 204 });
  await take({ operation: "GET /api/schedules/{name}", ...named, status: 404 });
};

export const lifeOfAKey = async (take: Take): Promise<void> => {
  const { id, key } = await take({ operation: "POST /api/keys", body: { name: "k", role: "admin" }, status: 201 });
  await take({ operation: "POST /session", body: { key }, status: 200 });
  const rotated = await take({ operation: "POST /api/keys/{id}/rotate", id, status: 200 });
  await take({ operation: "POST /session", body: { key }, status: 401 });
  await take({ operation: "POST /session", body: { key: rotated.key }, status: 200 });
  await take({ operation: "DELETE /api/keys/{id}", id, status: 204 });
  await take({ operation: "POST /session", body: { key: rotated.key }, status: 401 });
  await take({ operation: "POST /api/keys/{id}/rotate", id, status: 409 });
  await take({ operation: "GET /session", status: 200 });
  await take({ operation: "DELETE /session", status: 204 });
  await take({ operation: "GET /api/audit", status: 200 });
};

export const lifeOfATenant = async (take: Take): Promise<void> => {
  const body = { tenant: "story" };
  await take({ operation: "POST /admin/tenants", body, role: "root", status: 201 });
  await take({ operation: "POST /admin/tenants", body, role: "root", status: 409 });
  await take({ operation: "GET /admin/tenants", role: "root", status: 200 });
  const key = { name: "another admin" };
  const root = { role: "root", id: "story" } as const;
  await take({ ...root, operation: "POST /admin/tenants/{tenant}/keys", body: key, status: 201 });
  await take({ ...root, operation: "PATCH /admin/tenants/{tenant}", body: { max_gb: 1 }, status: 200 });
  const database = "/admin/tenants/{tenant}/database";
  await take({ ...root, operation: `POST ${database}`, body: { database: 0 }, status: 200 });
  await take({ ...root, operation: `POST ${database}`, body: { database: 1 }, status: 400 });
  await take({ ...root, operation: `DELETE ${database}`, status: 204 });
  await take({ ...root, operation: "DELETE /admin/tenants/{tenant}", status: 204 });
  await take({ ...root, operation: "DELETE /admin/tenants/{tenant}", status: 404 });
};

export const lifeOfALook = async (take: Take): Promise<void> => {
  await take({ operation: "GET /api/jobs", status: 200 });
  await take({ operation: "GET /api/jobs", query: "q=story&sort=-cost_usd", status: 200 });
  await take({ operation: "GET /api/cost/by/{by}", id: "model", status: 200 });
  await take({ operation: "GET /docs/{page}", id: "jobs", role: "none", status: 200 });
};

export const lifeOfAMove = async (take: Take): Promise<void> => {
  const root = { role: "root", id: "goes" } as const;
  await take({ operation: "POST /admin/tenants", body: { tenant: "goes" }, role: "root", status: 201 });
  const move = "POST /admin/tenants/{tenant}/move";
  const begun = await take({ ...root, operation: move, body: { to: "https://there.example.com" }, status: 200 });
  await take({ ...root, operation: move, body: { to: "https://elsewhere.example.com" }, status: 410 });
  const query = "place=object&table=keys";
  const part = await take({ ...root, operation: "GET /admin/tenants/{tenant}/rows", query, status: 200 });
  await take({ ...root, operation: "GET /admin/tenants/{tenant}/rows/digest", query, status: 200 });
  await take({ ...root, operation: "POST /admin/tenants/{tenant}/rows", body: part, status: 409 });
  await take({ ...root, operation: "DELETE /admin/tenants/{tenant}/move", status: 204 });
  const leaves = { role: "root", id: "leaves" } as const;
  await take({ operation: "POST /admin/tenants", body: { tenant: "leaves" }, role: "root", status: 201 });
  await take({ ...leaves, operation: move, body: { to: "https://there.example.com" }, status: 200 });
  await take({ ...leaves, operation: "POST /admin/tenants/{tenant}/left", status: 204 });
  const { move: name, created_at, schema } = begun;
  const come = { role: "root", id: "comes" } as const;
  const arrival = { move: name, created_at, schema };
  await take({ ...come, operation: "POST /admin/tenants/{tenant}/arrive", body: arrival, status: 201 });
  await take({ ...come, operation: "POST /admin/tenants/{tenant}/rows", body: part, status: 204 });
  const file = { role: "root", path: { tenant: "comes", id: "file-story" } } as const;
  const until = "until=2099-01-01T00:00:00Z";
  const write = "PUT /admin/tenants/{tenant}/files/{id}";
  await take({ ...file, operation: write, query: until, body: { any: "bytes" }, status: 200 });
  await take({ ...file, operation: "GET /admin/tenants/{tenant}/files/{id}", status: 200 });
  await take({ ...come, operation: "POST /admin/tenants/{tenant}/arrived", status: 200 });
};

export const lifeOfAFile = async (take: Take): Promise<void> => {
  const { id } = await take({ operation: "POST /api/files", query: "name=story.json", body: JOB, status: 201 });
  await take({ operation: "GET /api/files/{id}", id, status: 200 });
  await take({ operation: "GET /api/files/{id}/content", id, status: 200 });
  const { url } = await take({ operation: "POST /api/files/{id}/link", id, status: 201 });
  const [, , link = "", name = ""] = new URL(String(url)).pathname.split("/");
  await take({ operation: "GET /files/{link}/{name}", path: { link, name }, role: "none", status: 200 });
  await take({ operation: "DELETE /api/files/{id}", id, status: 204 });
  await take({ operation: "GET /api/files/{id}/content", id, status: 404 });
};

export const lifeOfASubscription = async (take: Take): Promise<void> => {
  const body = { provider: "openai", models_sync_url: "https://models.example.com/story" };
  const { id } = await take({ operation: "POST /catalog/subscriptions", body, status: 201 });
  await take({ operation: "POST /catalog/subscriptions", body, status: 409 });
  const patch = { models_sync_schedule: "0 */6 * * *" };
  await take({ operation: "PATCH /catalog/subscriptions/{id}", id, body: patch, status: 200 });
  await take({ operation: "GET /catalog/subscriptions/{id}/models", id, status: 200 });
  await take({ operation: "GET /catalog/subscriptions/{id}/history", id, status: 200 });
  await take({ operation: "DELETE /catalog/subscriptions/{id}", id, status: 204 });
  await take({ operation: "POST /catalog/subscriptions/{id}/sync", id, status: 404 });
};

export const lifeOfAWebhook = async (take: Take): Promise<void> => {
  const body = { url: "https://hooks.example.com/story", events: ["job.completed"] };
  const { id } = await take({ operation: "POST /api/webhooks", body, status: 201 });
  await take({ operation: "GET /api/webhooks/{id}", id, status: 200 });
  await take({ operation: "PATCH /api/webhooks/{id}", id, body: { enabled: false }, status: 200 });
  await take({ operation: "POST /api/webhooks/{id}/rotate", id, status: 200 });
  const delivery = await take({ operation: "POST /api/webhooks/{id}/test", id, status: 200 });
  await take({ operation: "GET /api/webhooks/{id}/deliveries", id, status: 200 });
  await take({ operation: "POST /api/webhooks/deliveries/{id}/redeliver", id: String(delivery.id), status: 200 });
  await take({ operation: "DELETE /api/webhooks/{id}", id, status: 204 });
  await take({ operation: "GET /api/webhooks/{id}", id, status: 404 });
};

export const lifeOfABatch = async (take: Take): Promise<void> => {
  const params = { model: "story", max_tokens: 5, messages: [{ role: "user", content: "hi" }] };
  const requests = [{ custom_id: "first", params }];
  const { id } = await take({ operation: "POST /v1/messages/batches", body: { requests }, status: 200 });
  await take({ operation: "GET /api/batches/{id}", id, status: 200 });
  await take({ operation: "POST /api/batches/{id}/cancel", id, status: 200 });
};

export const lifeOfAnAgent = async (take: Take): Promise<void> => {
  const headers = { accept: "application/json, text/event-stream" };
  const asks = (id: number, method: string, params: object) => ({ jsonrpc: "2.0", id, method, params });
  const client = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "story", version: "1" } };
  await take({ operation: "POST /mcp", body: asks(1, "initialize", client), headers, status: 200 });
  await take({ operation: "POST /mcp", body: asks(2, "tools/list", {}), headers, status: 200 });
};

export const lifeOfAProviderKey = async (take: Take): Promise<void> => {
  const openai = { id: "openai" } as const;
  await take({ operation: "PUT /api/provider-keys/{provider}", ...openai, body: { key: "a-secret" }, status: 204 });
  await take({ operation: "GET /api/provider-keys", status: 200 });
  await take({ operation: "DELETE /api/provider-keys/{provider}", ...openai, status: 204 });
};

export const lifeOfASignIn = async (take: Take): Promise<void> => {
  const oidc = { issuer: "https://id.example.com", client_id: "story", client_secret: "a secret", name: "Story" };
  const roles = [{ claim: "groups", has: "team", role: "admin" }];
  await take({ operation: "PUT /api/sign-in", body: { oidc, roles }, status: 200 });
  await take({ operation: "GET /api/sign-in", status: 200 });
  await take({ operation: "GET /auth/{tenant}", id: "default", role: "none", status: 200 });
};

export const lifeOfAHalt = async (take: Take): Promise<void> => {
  for (const level of [1, 2, 3, 4]) {
    await take({ operation: "POST /killswitch", body: { level, reason: "a drill" }, status: 200 });
    await take({ operation: "POST /dispatch", body: JOB, status: 503 });
    await take({ operation: "POST /api/jobs", body: JOB, status: level < 3 ? 201 : 503 });
    await take({ operation: "PUT /config", body: {}, status: level < 4 ? 200 : 503 });
    await take({ operation: "GET /killswitch", status: 200 });
    await take({ operation: "DELETE /killswitch", query: "resume_all=true", status: 200 });
  }
};
