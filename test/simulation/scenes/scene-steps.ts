// The steps that scenes share.

import { configDocument } from "../../../contract/config/config.ts";
import { toPresence } from "../../../contract/fleet/worker.ts";
import type { JobError } from "../../../domain/job/job.ts";
import type { NewJob } from "../../../domain/job/new-job.ts";
import { REQUEST } from "../../domain/job/sample-jobs.ts";
import type { Scene } from "./scene.ts";

/** A job that any worker may have. */
export const JOB: NewJob = { ...REQUEST, prompt: "hello", input: {}, tags: [] };

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

/** The provider's catalog lists these models. */
export const learn = (scene: Scene, provider: string, ids: readonly string[]) =>
  scene.tell((tenant) => tenant.learnCatalog({ provider, models: ids.map((id) => ({ id })) }));

export const read = (scene: Scene, id: string) => scene.done(scene.admin, "getJob", { id });

export const started = async (scene: Scene, wanted: Partial<NewJob> = {}) => {
  const { id } = await create(scene, wanted);
  const { lease } = await read(scene, id);
  await scene.done(scene.admin, "startJob", { id, lease });
  return { id, lease };
};

export const NOTHING_SPENT = { usage: null, costUsd: null, model: null };

export type Held = { readonly id: string; readonly lease: number };

/** `more`: what the worker reports beside the error. */
export const fail = (scene: Scene, held: Held, error: JobError, more: Record<string, unknown> = {}) =>
  scene.done(scene.admin, "failJob", { ...held, error, retryAfterMs: null, ...NOTHING_SPENT, ...more });

/** `costUsd`: what the worker reports that it cost. */
export const complete = (scene: Scene, held: Held, costUsd: number | null = null) =>
  scene.done(scene.admin, "completeJob", { ...held, result: "done", ...NOTHING_SPENT, costUsd });

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
