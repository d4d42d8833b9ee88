// The clients: they create and dispatch with idempotency keys, repeat every call without an answer, cancel and retry,
// and read their jobs.

import { setTimeout as pause } from "node:timers/promises";
import type { JobResource } from "../../contract/jobs/job.ts";
import { oneOf, pickOf } from "../simulation/platform/random.ts";
import type { Answer } from "./history.ts";
import { type Call, callOnce, callUntilAnswered, type Stage } from "./stage.ts";

const MAX_PAUSE_MS = 120;
const MAX_BATCH = 5;
const RECENT_JOBS = 60;
const PRIORITIES = ["low", "normal", "high", "critical"] as const;

type Kind = "create" | "dispatch" | "queue" | "batch" | "cancel" | "retry" | "read";
const MIX: readonly (readonly [Kind, number])[] = [
  ["create", 45],
  ["dispatch", 15],
  ["queue", 6],
  ["batch", 3],
  ["cancel", 4],
  ["retry", 5],
  ["read", 22],
];

export const runClient = async (stage: Stage, name: string): Promise<void> => {
  const recent: string[] = [];
  for (let count = 0; stage.isRough && !stage.isOver; count += 1) {
    const kind = stage.random.weighted(MIX);
    if (kind === "batch") remember(recent, await createBatch(stage, `${name}-${count}`));
    else if (kind === "create" || kind === "dispatch" || kind === "queue") {
      remember(recent, await createOne(stage, kind, `${name}-${count}`));
    } else await touch(stage, kind, name, pickOf(recent, stage.random.next()));
    await pause(stage.random.next() * MAX_PAUSE_MS);
  }
};

const remember = (recent: string[], ids: readonly string[]): void => {
  recent.push(...ids);
  if (recent.length > RECENT_JOBS) recent.splice(0, recent.length - RECENT_JOBS);
};

const newJob = (stage: Stage, prompt: string) => {
  const isForProcess = stage.random.next() < 0.15;
  const delay = Math.floor(stage.random.next() * 400);
  return {
    prompt,
    tags: [`from-${prompt.split("-")[0]}`],
    priority: oneOf(PRIORITIES, stage.random.next()),
    ...(isForProcess ? { provider: "echo", input: { delay_ms: delay } } : { provider: "chaos" }),
  };
};

const PATHS = { create: "/api/jobs", dispatch: "/dispatch", queue: "/dispatch?queue=true" } as const;

const createOne = async (stage: Stage, kind: keyof typeof PATHS, prompt: string): Promise<string[]> => {
  const call: Call = {
    method: "POST",
    path: PATHS[kind],
    body: newJob(stage, prompt),
    idempotencyKey: `key-${prompt}`,
  };
  const note = (answer: Answer | null) => {
    const id = answer?.code === null ? (answer.body as JobResource).id : null;
    const jobIds = id === null ? null : [id];
    const key = call.idempotencyKey ?? null;
    stage.history.add({ kind: "create", key, prompts: [prompt], jobIds, code: answer?.code ?? null });
    return jobIds ?? [];
  };
  while (!stage.isOver) {
    const answer = await callOnce(stage, stage.rough, call);
    const ids = note(answer);
    // Sometimes repeats an answered call: it must lead to the same job.
    if (answer !== null && stage.random.next() > 0.05) return ids;
    await pause(stage.random.next() * MAX_PAUSE_MS);
  }
  return [];
};

const createBatch = async (stage: Stage, prompt: string): Promise<string[]> => {
  const size = 1 + Math.floor(stage.random.next() * MAX_BATCH);
  const jobs = Array.from({ length: size }, (_, index) => newJob(stage, `${prompt}-${index}`));
  const answer = await callOnce(stage, stage.rough, { method: "POST", path: "/api/jobs/batch", body: { jobs } });
  const made = answer?.code === null ? (answer.body as { jobs: JobResource[] }).jobs.map((job) => job.id) : null;
  const prompts = jobs.map((job) => job.prompt);
  stage.history.add({ kind: "create", key: null, prompts, jobIds: made, code: answer?.code ?? null });
  return made ?? [];
};

const touch = async (
  stage: Stage,
  kind: "cancel" | "retry" | "read",
  reader: string,
  jobId: string | undefined,
): Promise<void> => {
  if (jobId === undefined) return;
  const path = `/api/jobs/${jobId}`;
  const answer =
    kind === "read"
      ? await callOnce(stage, stage.rough, { method: "GET", path })
      : await callUntilAnswered(stage, stage.rough, { method: "POST", path: `${path}/${kind}` });
  if (answer?.status !== 200) return;
  const { status, lease, prompt } = answer.body as JobResource;
  stage.history.add({ kind: "read", reader, jobId, job: { status, lease, prompt } });
};

const HALT_EVERY_MS = 6_000;
const HALTED_FOR_MS = 700;

/**
 * Sometimes engages the killswitch and then resumes all workers. Through the smooth proxy, so that none of its calls
 * comes late.
 */
export const runOperator = async (stage: Stage): Promise<void> => {
  while (stage.isRough && !stage.isOver) {
    await pause(stage.random.next() * HALT_EVERY_MS);
    if (!stage.isRough) return;
    const level = 1 + Math.floor(stage.random.next() ** 3 * 4);
    const body = { level, reason: "chaos" };
    await callUntilAnswered(stage, stage.smooth, { method: "POST", path: "/killswitch", body });
    const answeredAt = Date.now();
    await pause(stage.random.next() * HALTED_FOR_MS);
    const clearedAt = Date.now();
    await resumeEverybody(stage);
    stage.history.add({ kind: "halt", answeredAt, clearedAt });
  }
};

/** Also workers that were paused because they failed or slept too often. */
export const resumeEverybody = async (stage: Stage): Promise<void> => {
  await callUntilAnswered(stage, stage.smooth, { method: "DELETE", path: "/killswitch?resume_all=true" });
  const answer = await callUntilAnswered(stage, stage.smooth, { method: "GET", path: "/api/workers?limit=200" });
  const { workers } = (answer?.body ?? { workers: [] }) as { workers: { instance: string; paused: boolean }[] };
  for (const { instance, paused } of workers) {
    if (paused)
      await callUntilAnswered(stage, stage.smooth, { method: "POST", path: `/api/workers/${instance}/resume` });
  }
};
