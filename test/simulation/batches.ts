// Batches: files of requests, cancelled or left to end, with calls to the files' objects that get lost.

import type { BatchRecord } from "../../domain/batch/batch.ts";
import { HOUR_MS } from "../../domain/words/duration.ts";
import type { Check } from "./invariants.ts";
import type { StepKind } from "./plan.ts";
import { oneOf, pickOf } from "./random.ts";
import type { Action, World } from "./world.ts";

const MOST_LINES = 30;
const ENDPOINT = "chat/completions";

const makeBatch: Action = async (world, [count, model, window, other]) => {
  const { admin, shell } = world;
  const [fileId, id] = [world.fresh("file"), world.fresh("batch")];
  const names = Array.from({ length: 1 + Math.floor(count * MOST_LINES) }, () => world.fresh("line"));
  const models = oneOf([["m"], ["m", "n"], ["m", "constructor"]], model);
  const text = names.map((name, at) =>
    JSON.stringify({
      custom_id: name,
      method: "POST",
      url: `/v1/${ENDPOINT}`,
      body: { model: models[at % models.length], n: Math.floor(other * at) },
    }),
  );
  // A line's name is the prompt of its job, which is one.
  for (const name of names) world.model.asked.add(name);
  const bytes = shell.files.put(fileId, text.join("\n"));
  const announced = await shell.call(admin, "announceFile", { id: fileId, bytes, origin: "http://box" });
  if (!announced?.ok) return;
  const arrived = {
    name: "in.jsonl",
    contentType: "application/jsonl",
    purpose: "batch",
    sha256: "0",
    lifeMs: HOUR_MS,
  };
  const stored = await shell.call(admin, "finishFile", { id: fileId, bytes, ...arrived });
  if (!stored?.ok) return;
  const asked = { id, form: "openai", fileId, origin: "http://box", api: ENDPOINT, metadata: null } as const;
  const windowMs = Math.ceil((1 + window * 5) * HOUR_MS);
  const limits = { completionWindow: "1h", windowMs, outputLifeMs: HOUR_MS };
  const made = await shell.call(admin, "createBatch", { ...asked, ...limits });
  if (made?.ok) world.batches.set(id, { fileId, names });
};

const cancelBatch: Action = async (world, [which]) => {
  const id = pickOf([...world.batches.keys()], which);
  if (id !== undefined) await world.shell.call(world.admin, "cancelBatch", { id });
};

const loseCalls: Action = ({ shell }, [count]) => {
  shell.files.lostCount = Math.floor(count * 4);
};

export const BATCH_ACTIONS = {
  "make a batch of lines": makeBatch,
  "cancel a batch of lines": cancelBatch,
  "lose calls to files": loseCalls,
} satisfies Partial<Record<StepKind, Action>>;

const recordsOf = ({ shell }: World): BatchRecord[] =>
  shell.disk.rows("SELECT record FROM batches").map((row) => JSON.parse(row.record as string) as BatchRecord);

/** Invariant 17. */
export const linesStandOnce: Check = (_before, _now, world) => {
  if (world.batches.size === 0) return null;
  for (const batch of recordsOf(world)) {
    const known = world.batches.get(batch.id);
    if (known === undefined || batch.endedAt === null || world.checkedBatches.has(batch.id)) continue;
    if (batch.status === "failed") return `batch ${batch.id} is failed: ${JSON.stringify(batch.faults)}`;
    const [out, err] = (["out", "err"] as const).map((form) => world.shell.files.told(known.fileId, batch.id, form));
    const told = [...(out ?? []), ...(err ?? [])].map(({ custom_id: name }) => name);
    if (told.sort().join() !== [...known.names].sort().join())
      return `batch ${batch.id} (${batch.status}) tells of ${told.length} lines of ${known.names.length}`;
    const failed = (err ?? []).filter(({ response }) => response !== null).length;
    if (out?.length !== batch.completed || failed !== batch.failed)
      return `batch ${batch.id} counts ${batch.completed} and ${batch.failed}, its files have ${out?.length} and ${failed}`;
    world.checkedBatches.add(batch.id);
  }
  return null;
};

/** After the calm every batch has ended, or waits for a model that nobody has. */
export const batchesAreOver = async (world: World): Promise<string | null> => {
  const HOURS_7 = 7 * HOUR_MS;
  if (world.batches.size === 0) return null;
  world.shell.files.lostCount = 0;
  await world.shell.advance(HOURS_7);
  const open = recordsOf(world).find(({ endedAt }) => endedAt === null);
  return open === undefined ? null : `batch ${open.id} is ${open.status} for ever: ${JSON.stringify(open)}`;
};
