// How a batch moves on: what is to be asked of the object of its file, and what the tenant does with the answer. Each
// step may be asked and answered twice. A batch's lines become jobs in the turn that moves its cursor past them, so each
// becomes one job. When to take a step: `batch-look.ts`.

import { mayUseModel } from "../../domain/access/key-limits.ts";
import {
  type BatchEnding,
  type BatchFileKind,
  type BatchModel,
  type BatchRecord,
  batchFileId,
  beginBatch,
  closeBatch,
  failBatch,
  finishLines,
  type LineCursor,
  noteFed,
  type TakenLine,
  unfedLines,
  yieldsUntilAt,
} from "../../domain/batch/batch.ts";
import { type Fault, type LineRules, wholeFault } from "../../domain/batch/batch-line.ts";
import { linesToFeed } from "../../domain/batch/feeding.ts";
import type { LineAnswer } from "../../domain/batch/line-answer.ts";
import type { FileRecord } from "../../domain/file/file.ts";
import { namesToAllow, plainChoice } from "../../domain/front-door/door-model.ts";
import type { ModelChoice } from "../../domain/job/job-facts.ts";
import { createJob, type NewJob, requirementsOfNew } from "../../domain/job/new-job.ts";
import { groupKeyOf } from "../../domain/job/queue.ts";
import type { WebhookEvent } from "../../domain/webhook.ts";
import { DAY_MS } from "../../domain/words/duration.ts";
import type { Json } from "../../domain/words/json.ts";
import { holdReason } from "../operations/files/batches.ts";
import { drop } from "../operations/files/files.ts";
import { findModels } from "../operations/front-door/door-models.ts";
import { admit, type WaitingReasons } from "../placing/place-job.ts";
import { refuseBacklog, refuseGroups } from "../placing/room.ts";
import { inFlow } from "../steps/flow.ts";
import { actorOf } from "../steps/holders.ts";
import type { Turn } from "../turn/turn.ts";

const SENT_AT_ONCE = { rows: 500, chars: 4_000_000 };
/** Longer than any batch: what its files are announced for. */
const ANNOUNCED_MS = 8 * DAY_MS;
const BATCH_OUTPUT = "batch_output";
/** A batch's two files: the answers of lines that completed, and of the others. */
const FORMS: readonly BatchFileKind[] = ["out", "err"];

/** What the object of a batch's file is to do. */
export type BatchStep = { readonly id: string; readonly fileId: string } & (
  | { readonly do: "learn"; readonly rules: LineRules; readonly bytes: number; readonly keptUntil: number }
  | { readonly do: "record"; readonly answers: readonly LineAnswer[] }
  | {
      readonly do: "take";
      readonly model: string;
      readonly cursor: LineCursor | null;
      readonly limit: number;
    }
  | {
      readonly do: "close";
      readonly ending: BatchEnding;
      readonly expiresAt: number;
    }
);

/** The next step of a batch; null if it waits for its lines, or has ended. */
export const nextStepOf = (turn: Turn, id: string): BatchStep | null => {
  const batch = turn.memory.batches.open.get(id);
  if (batch === undefined) return null;
  const named = { id, fileId: batch.fileId };
  const answers = turn.store.lineEnds.of(id, SENT_AT_ONCE);
  if (answers.length > 0) return { ...named, do: "record", answers };
  if (batch.ending !== null) {
    const expiresAt = turn.nowAt + batch.outputLifeMs;
    return { ...named, do: "close", ending: batch.ending, expiresAt };
  }
  if (batch.inProgressAt === null) return { ...named, do: "learn", ...learning(turn, batch) };
  const model = batch.status === "in_progress" ? modelToFeed(turn, batch) : null;
  return model === null ? null : { ...named, do: "take", ...model };
};

const learning = (turn: Turn, batch: BatchRecord): { rules: LineRules; bytes: number; keptUntil: number } => {
  const file = turn.store.files.find(batch.fileId);
  const { aliases } = turn.memory.config.frontDoor;
  return {
    rules: {
      endpoint: `/v1/${batch.api}`,
      models: patternsOf(turn, batch),
      aliases: Object.fromEntries(Object.entries(aliases).map(([name, list]) => [name, list[0]?.model ?? name])),
    },
    bytes: file?.bytes ?? 0,
    keptUntil: batch.expiresAt + ANNOUNCED_MS,
  };
};

/** Of the models that its key may use; null: all. */
const patternsOf = ({ store }: Turn, { keyId }: BatchRecord): readonly string[] | null =>
  store.keys.limitsOf(keyId)?.models ?? null;

const modelToFeed = (
  turn: Turn,
  batch: BatchRecord,
): Omit<Extract<BatchStep, { do: "take" }>, "id" | "fileId" | "do"> | null => {
  if (unfedLines(batch) === 0 || holdReason(turn, batch) !== null || !refuseBacklog(turn).ok) return null;
  for (const model of batch.models) {
    if (model.fed === model.total) continue;
    const limit = linesToFeed(model, placesFor(turn, batch, model));
    if (limit > 0) return { model: model.name, cursor: model.cursor, limit };
  }
  return null;
};

/** Of an alias's list from the first that a worker has. A model that no worker has is no fault: its lines wait. */
const meant = (turn: Turn, batch: BatchRecord, name: string): readonly [ModelChoice, ...ModelChoice[]] => {
  const found = findModels(turn, { model: name, others: [], seed: name });
  const choices = found.ok && mayMean(turn, batch, name, found.value.choices[0]) ? found.value.choices : [];
  const at = choices.findIndex((choice) => placesOf(turn, batch, choice) > 0);
  const [first = plainChoice(name), ...left] = choices.slice(Math.max(0, at));
  return [first, ...left];
};

/** Its name was allowed as it is written when the file was read. */
const mayMean = (turn: Turn, batch: BatchRecord, name: string, choice: ModelChoice | undefined): boolean => {
  const patterns = patternsOf(turn, batch);
  if (patterns === null || choice === undefined) return true;
  const names = namesToAllow(name, choice, turn.memory.config.frontDoor.aliases, patterns);
  return names.includes(name) || mayUseModel(patterns, choice.model);
};

const placesFor = (turn: Turn, batch: BatchRecord, { name }: BatchModel): number =>
  placesOf(turn, batch, meant(turn, batch, name)[0]);

const placesOf = (turn: Turn, { api, id }: BatchRecord, { model, provider, tags }: ModelChoice): number => {
  const asked = { provider, model, tags, api, excludedProviders: [], avoidedWorkers: [], batch: id };
  let places = 0;
  for (const slot of turn.memory.fleet.offers.allOf(asked).members())
    places += turn.memory.fleet.at(slot).worker.concurrency;
  return places;
};

/** Its file was read, or is at fault. */
export const learned = (
  turn: Turn,
  id: string,
  found:
    | { is: "refused"; faults: readonly Fault[] }
    | { is: "ready"; models: readonly Pick<BatchModel, "name" | "total">[] },
): void => {
  const batch = turn.memory.batches.open.get(id);
  if (batch === undefined || batch.inProgressAt !== null) return;
  if (found.is === "refused") {
    const faults = found.faults.length > 0 ? found.faults : [wholeFault("empty_file", "the file is gone")];
    conclude(turn, failBatch(batch, faults, turn.nowAt));
    turn.effects.droppedViews.push(...viewsOf(batch));
    return;
  }
  const begun = beginBatch(batch, found.models, turn.nowAt);
  for (const form of FORMS) turn.store.files.put(announcedFile(turn, begun, form));
  if (batch.status !== "cancelling") turn.putBatch(begun);
  else turn.putBatch(finishLines({ ...begun, status: "cancelling" }, "cancelled", turn.nowAt));
};

const viewsOf = ({ id, fileId }: BatchRecord) => FORMS.map((form) => ({ fileId, batch: id, form }));

const NAMES: Readonly<Record<BatchFileKind, string>> = { out: "output", err: "errors" };

/** Not readable yet: it counts what the batch's answers take. */
const announcedFile = (turn: Turn, batch: BatchRecord, form: BatchFileKind): FileRecord => ({
  id: batchFileId(batch.id, form),
  name: `${batch.id}_${NAMES[form]}.jsonl`,
  contentType: "application/jsonl",
  purpose: BATCH_OUTPUT,
  bytes: 0,
  sha256: null,
  createdAt: turn.nowAt,
  expiresAt: turn.nowAt + ANNOUNCED_MS,
  keyId: batch.keyId,
  ownerKeyId: batch.keyId,
  jobId: null,
  origin: batch.origin,
  upload: null,
  view: { fileId: batch.fileId, batch: batch.id, form },
});

/** The object of the file has these answers. */
export const recorded = (turn: Turn, id: string, answers: readonly LineAnswer[]): void => {
  turn.store.lineEnds.remove(
    id,
    answers.map(({ line }) => line),
  );
  for (const form of FORMS) {
    const file = turn.store.files.find(batchFileId(id, form));
    const ofThis = answers.filter(({ state }) => (state === "completed") === (form === "out"));
    const bytes = ofThis.reduce((sum, { body, resultFile }) => sum + (resultFile?.bytes ?? body?.length ?? 0), 0);
    if (file !== null && bytes > 0) turn.store.files.put({ ...file, bytes: file.bytes + bytes });
  }
  for (const { resultFile } of answers) {
    const copied = resultFile === null ? null : turn.store.files.find(resultFile.id);
    if (copied !== null) drop(turn, copied);
  }
};

/** Makes jobs of lines, unless the cursor has moved since they were asked for. Returns whether it did. */
export const fed = (
  turn: Turn,
  { id, model, cursor }: { id: string; model: string; cursor: LineCursor | null },
  lines: readonly TakenLine[],
): boolean => {
  const batch = turn.memory.batches.open.get(id);
  const known = batch?.models.find(({ name }) => name === model);
  const last = lines.at(-1);
  if (batch === undefined || known === undefined || last === undefined) return false;
  if (batch.status !== "in_progress" || known.cursor?.line !== cursor?.line) return false;
  const found = meant(turn, batch, model);
  const edge = batch.edge !== false && turn.store.keys.limitsOf(batch.keyId)?.edge !== false;
  const jobs = lines.map((line) => toNewJob(batch, model, found, edge, line));
  const groups = [...new Set(jobs.map((one) => groupKeyOf(requirementsOfNew(one))))];
  // What no worker takes may wait for ever, as a client's request does.
  const role = placesOf(turn, batch, found[0]) > 0 ? undefined : turn.store.keys.find(batch.keyId ?? "")?.role;
  if (!refuseGroups(turn, groups, role).ok || holdReason(turn, batch) !== null) return false;
  turn.putBatch(noteFed(batch, model, lines.length, { hash: last.hash, line: last.line }));
  const reasons: WaitingReasons = new Map();
  const creator = batch.keyId === null ? null : actorOf(turn.store, batch.keyId);
  const flowed = jobs.map((asked) => inFlow(turn, asked, batch.keyId));
  for (const asked of flowed) admit(turn, createJob(asked, turn.newId(), turn.nowAt, creator), reasons);
  return true;
};

type Given = { readonly [field: string]: Json };

/** The batch remembers a line's answer, not the runtime, which can do none in the background either. */
const remembered = ({ background: _background, background_options: _options, ...given }: Given): Given => ({
  ...given,
  store: false,
});

const toNewJob = (
  batch: BatchRecord,
  model: string,
  [found, ...choices]: ReturnType<typeof meant>,
  mayUseEdge: boolean,
  { line, customId, body }: TakenLine,
): NewJob => {
  // As at the front door: these two are for the coordinator.
  const { edge, models: _models, ...asked } = body;
  const given: Given = { ...asked, model: found.model };
  return {
    prompt: customId,
    input: batch.api === "responses" ? remembered(given) : given,
    provider: found.provider,
    model: found.model,
    tags: found.tags,
    priority: "low",
    tier: found.tier,
    edge: mayUseEdge && edge !== false,
    timeoutMs: null,
    maxAttempts: null,
    runAt: null,
    schedule: null,
    api: batch.api,
    batch: batch.id,
    batchPlace: {
      line,
      customId,
      model,
      yieldsUntilAt: yieldsUntilAt(batch),
      ...(choices.length === 0 ? {} : { choices }),
    },
  };
};

interface WrittenFile {
  readonly bytes: number;
  readonly sha256: string;
}

/** Its files are written: the batch has ended. */
export const closed = (
  turn: Turn,
  id: string,
  files: Readonly<Record<BatchFileKind, WrittenFile>>,
  expiresAt: number,
): void => {
  const batch = turn.memory.batches.open.get(id);
  if (batch === undefined || batch.ending === null) return;
  for (const form of FORMS) {
    const known = turn.store.files.find(batchFileId(id, form));
    if (known === null) continue;
    const { bytes, sha256 } = files[form];
    if (bytes === 0) drop(turn, known);
    else turn.store.files.put({ ...known, bytes, sha256, createdAt: turn.nowAt, expiresAt });
  }
  turn.due(expiresAt);
  conclude(turn, closeBatch(batch, { output: files.out.bytes, errors: files.err.bytes }, turn.nowAt));
};

const EVENTS: Readonly<Partial<Record<BatchRecord["status"], WebhookEvent>>> = {
  completed: "batch.completed",
  failed: "batch.failed",
  cancelled: "batch.cancelled",
  expired: "batch.expired",
};

const conclude = (turn: Turn, batch: BatchRecord): void => {
  turn.putBatch(batch);
  const event = EVENTS[batch.status];
  const { id, status, total, completed, failed } = batch;
  const data = { id, status, total, completed, failed, cancelled: total - completed - failed };
  if (event !== undefined) turn.announce(event, data);
};
