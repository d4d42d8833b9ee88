// The steps that scenes share.

import { configDocument } from "../../contract/config.ts";
import { toPresence } from "../../contract/worker.ts";
import type { NewJob } from "../../domain/job.ts";
import type { Scene } from "./scene.ts";

/** A job that any worker may have. */
export const JOB: NewJob = {
  prompt: "hello",
  input: {},
  provider: null,
  model: null,
  tags: [],
  priority: "normal",
  tier: null,
  timeoutMs: null,
  maxAttempts: null,
  runAt: null,
  schedule: null,
};

const WORKER = { instance: "w", provider: "p", tags: "", concurrency: 1 };

/** Workers count as alive, however long a scene takes. */
export const ALIVE = { presence: { offline_after_seconds: 3600 } };

export const configure = (scene: Scene, document: Record<string, unknown>) =>
  scene.done(scene.admin, "replaceConfig", { document: configDocument.parse(document), etag: "e", ifMatch: null });

export const present = (
  scene: Scene,
  more: Record<string, unknown> = {},
  credential = scene.admin,
  viaSocket = false,
) => scene.done(credential, "reportPresence", { ...toPresence({ ...WORKER, ...more }), viaSocket });

export const create = (scene: Scene, wanted: Partial<NewJob> = {}, idempotencyKey: string | null = null) =>
  scene.done(scene.admin, "createJob", {
    job: { ...JOB, ...wanted },
    idempotency: idempotencyKey === null ? null : { key: idempotencyKey, bodyHash: "b" },
  });

export const read = (scene: Scene, id: string) => scene.done(scene.admin, "getJob", { id });

export const started = async (scene: Scene, wanted: Partial<NewJob> = {}) => {
  const { id } = await create(scene, wanted);
  const { lease } = await read(scene, id);
  await scene.done(scene.admin, "startJob", { id, lease });
  return { id, lease };
};

/** `costUsd`: what the worker reports that it cost. */
export const complete = (scene: Scene, { id, lease }: { id: string; lease: number }, costUsd: number | null = null) =>
  scene.done(scene.admin, "completeJob", { id, lease, result: "done", usage: null, costUsd, model: null });

/** A request at the front door, with its own id. */
export const asking = (id: string, more: Record<string, unknown> = {}) => ({
  id,
  api: "chat/completions" as const,
  stream: false,
  model: "m",
  prompt: id,
  input: {},
  session: null,
  headers: {},
  provider: null,
  tags: [],
  priority: "normal" as const,
  tier: null,
  timeoutMs: null,
  queueMs: 3_600_000,
  idempotency: null,
  traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01`,
  ...more,
});

/** What it offers to requests at the front door. */
export const ANSWERS = { models: ["m"], apis: ["chat/completions"] };
