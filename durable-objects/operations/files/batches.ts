// Batches, for their owner: create, read, cancel, delete. What moves them on is in `batch-steps.ts` and `batch-look.ts`.

import type { BatchFacts } from "../../../contract/batch.ts";
import {
  type BatchRecord,
  batchFileId,
  createBatch,
  isEnded,
  linesPerMinute,
  MAX_BATCHES,
  MAX_BATCHES_OF_CLIENT,
  MAX_OPEN_BATCHES,
  MAX_OPEN_OF_CLIENT,
  type NewBatch,
  openLines,
  unfedLines,
} from "../../../domain/batch/batch.ts";
import { isReadable } from "../../../domain/file/file.ts";
import { backsOff } from "../../../domain/routing/batch-room.ts";
import { HOUR_MS, MINUTE_MS } from "../../../domain/words/duration.ts";
import { haltReason } from "../../../domain/words/halt-reason.ts";
import { invalid, notFound, type Refusal } from "../../../domain/words/refusal.ts";
import { err, ok, type Result } from "../../../domain/words/result.ts";
import { refuseBacklog, refuseFull, STORES_ENOUGH } from "../../placing/room.ts";
import { routePolicy } from "../../placing/route-policy.ts";
import { pendingReason } from "../../placing/waiting-reason.ts";
import { headJobOf } from "../../steps/group-jobs.ts";
import { heldByMoney, refuseOverUse } from "../../steps/key-limits.ts";
import { stopBatch } from "../../steps/stop-batches.ts";
import type { Turn } from "../../turn/turn.ts";
import { drop, getFile } from "./files.ts";

const RETRY_SECONDS = 60;
/** How long a batch's input is kept beyond its window. */
const AFTER_WINDOW_MS = HOUR_MS;
const NAMED_REASONS = 3;

const tooMany = (of: "tenant" | "key", limit: number, areEnded: boolean): Refusal => ({
  code: "too_many_batches",
  of,
  limit,
  areEnded,
  retryAfterSeconds: RETRY_SECONDS,
});

export const create = (
  turn: Turn,
  request: Omit<NewBatch, "keyId"> & { windowMs: number },
): Result<BatchFacts, Refusal> => {
  const { windowMs, ...asked } = request;
  const known = turn.store.batches.find(asked.id);
  if (known !== null && known.keyId === turn.caller.keyId) return ok(tell(turn, known));
  const seen = getFile(turn, { id: asked.fileId });
  const file = turn.store.files.find(asked.fileId);
  if (!seen.ok || file === null || !isReadable(file, turn.nowAt)) return err(notFound("file", asked.fileId));
  if (file.view !== undefined) return err(invalid("input_file_id", "is what a batch wrote: upload a file of requests"));
  const backlog = refuseBacklog(turn);
  if (!backlog.ok) return backlog;
  const limited = refuseOverUse(turn, []);
  if (!limited.ok) return limited;
  const { open } = turn.memory.batches;
  const owner = ownerOf(turn);
  if (owner !== null && [...open.values()].filter(({ keyId }) => keyId === owner).length >= MAX_OPEN_OF_CLIENT)
    return err(tooMany("key", MAX_OPEN_OF_CLIENT, false));
  if (open.size >= MAX_OPEN_BATCHES) return err(tooMany("tenant", MAX_OPEN_BATCHES, false));
  const { batches } = turn.store;
  if (owner !== null && batches.count({ ofKey: owner, form: null }) >= MAX_BATCHES_OF_CLIENT)
    return err(tooMany("key", MAX_BATCHES_OF_CLIENT, true));
  if (batches.total() >= MAX_BATCHES) return err(tooMany("tenant", MAX_BATCHES, true));
  const batch = createBatch({ ...asked, keyId: turn.caller.keyId }, windowMs, turn.nowAt);
  const keptUntil = Math.max(file.expiresAt, batch.expiresAt + AFTER_WINDOW_MS);
  turn.store.files.put({ ...file, expiresAt: keptUntil });
  turn.putBatch(batch);
  turn.effects.batches.add(batch.id);
  turn.due(turn.nowAt + RETRY_SECONDS * 1000);
  return ok(tell(turn, batch));
};

/** A client key sees its own. */
const ownerOf = ({ caller }: Turn): string | null => (caller.role === "client" ? caller.keyId : null);

const find = (turn: Turn, id: string): Result<BatchRecord, Refusal> => {
  const batch = turn.memory.batches.open.get(id) ?? turn.store.batches.find(id);
  const owner = ownerOf(turn);
  return batch === null || (owner !== null && batch.keyId !== owner) ? err(notFound("batch", id)) : ok(batch);
};

export const get = (turn: Turn, { id }: { id: string }): Result<BatchFacts, Refusal> => {
  const found = find(turn, id);
  return found.ok ? ok(tell(turn, found.value)) : found;
};

export const list = (
  turn: Turn,
  { limit, offset }: { limit: number; offset: number },
): Result<{ batches: BatchFacts[]; total: number }, Refusal> => {
  const seen = { ofKey: ownerOf(turn), form: null };
  return ok({
    batches: turn.store.batches.page({ ...seen, limit }, offset).map((batch) => tell(turn, batch)),
    total: turn.store.batches.count(seen),
  });
};

interface BatchesBeside {
  readonly form: BatchRecord["form"];
  /** Newest first: those behind this one, or before it if they are to be newer; null for the newest. */
  readonly beside: string | null;
  readonly isNewer: boolean;
  readonly limit: number;
}

/** A page by cursor, as OpenAI's and Anthropic's clients ask for it, and whether there are more that way. */
export const listBeside = (
  turn: Turn,
  { form, beside, isNewer, limit }: BatchesBeside,
): Result<{ batches: BatchFacts[]; hasMore: boolean }, Refusal> => {
  const { batches } = turn.store;
  const ofKey = ownerOf(turn);
  const place = beside === null ? null : batches.placeOf(beside);
  if (beside !== null && (place === null || (ofKey !== null && place.owner !== ofKey)))
    return err(notFound("batch", beside));
  const asked = { ofKey, form, limit: limit + 1 };
  const found = place === null ? batches.page(asked, 0) : batches.beside(asked, place, isNewer);
  const page = isNewer ? found.slice(-limit) : found.slice(0, limit);
  return ok({ batches: page.map((batch) => tell(turn, batch)), hasMore: found.length > limit });
};

/** Repeating it changes nothing; what has ended cannot be cancelled. */
export const cancel = (turn: Turn, { id }: { id: string }): Result<BatchFacts, Refusal> => {
  const found = find(turn, id);
  if (!found.ok) return found;
  const { status } = found.value;
  if (status === "cancelling" || status === "cancelled") return ok(tell(turn, found.value));
  if (isEnded(found.value) || found.value.ending !== null)
    return err({ code: "batch_state", id, status, command: "cancel" });
  stopBatch(turn, found.value, false);
  return get(turn, { id });
};

/** Deletes a batch that has ended, with its files. */
export const remove = (turn: Turn, { id }: { id: string }): Result<null, Refusal> => {
  const found = find(turn, id);
  if (!found.ok) return found;
  if (!isEnded(found.value)) return err({ code: "batch_state", id, status: found.value.status, command: "delete" });
  const { form, fileId } = found.value;
  const ids = [batchFileId(id, "out"), batchFileId(id, "err"), ...(form === "anthropic" ? [fileId] : [])];
  for (const one of ids) {
    const file = turn.store.files.find(one);
    if (file !== null) drop(turn, file);
  }
  turn.store.batches.remove(id);
  return ok(null);
};

/** Why no line of a batch may begin; null if one may, or if only room is lacking. */
export const holdReason = (turn: Turn, batch: BatchRecord): string | null => {
  const { killswitch, config } = turn.memory;
  if (killswitch.level > 0) return haltReason(killswitch.level);
  const byMoney = heldByMoney(turn, batch.keyId);
  if (byMoney !== null) return byMoney;
  if (!refuseFull(turn).ok) return STORES_ENOUGH;
  const held = turn.store.files.held().bytes;
  if (held < config.files.maxBytes) return null;
  return `the tenant's files take ${held} bytes of ${config.files.maxBytes}: delete files, or raise files.max_gb`;
};

const reasonOf = (turn: Turn, batch: BatchRecord): string | null => {
  if (batch.status !== "in_progress") return null;
  const held = holdReason(turn, batch);
  if (held !== null) return held;
  const policy = routePolicy(turn);
  const reasons = new Set<string>();
  for (const group of turn.memory.queue.groups.values()) {
    if (group.requirements.batch !== batch.id || reasons.size === NAMED_REASONS) continue;
    const job = headJobOf(turn, group);
    if (job !== null) reasons.add(pendingReason(turn, job, policy));
  }
  if (reasons.size === 0) return providersOfLines(turn);
  return [...reasons].join("; ");
};

/** Lines that were tried are in no group until they are tried again. */
const providersOfLines = (turn: Turn): string | null => {
  const waits = [...turn.memory.batches.backoffs].filter(([, { untilAt }]) => untilAt > turn.nowAt);
  return waits.length === 0 ? null : waits.map(([provider, { untilAt }]) => backsOff(provider, untilAt)).join("; ");
};

const tell = (turn: Turn, batch: BatchRecord): BatchFacts => {
  const isOver = isEnded(batch) || batch.ending !== null;
  const running = isOver ? 0 : (turn.memory.batches.ofBatch.get(batch.id) ?? 0);
  const waiting = isOver ? 0 : openLines(batch) + unfedLines(batch) - running;
  const pace = isEnded(batch) ? 0 : linesPerMinute(batch, turn.nowAt);
  const left = waiting + running;
  const fileOf = (kind: "out" | "err"): string | null => {
    const id = batchFileId(batch.id, kind);
    const file = isEnded(batch) ? turn.store.files.find(id) : null;
    return file !== null && isReadable(file, turn.nowAt) ? id : null;
  };
  return {
    batch,
    waiting,
    running,
    waitingReason: waiting > 0 ? reasonOf(turn, batch) : null,
    linesPerMinute: pace,
    etaAt:
      left * pace === 0 || holdReason(turn, batch) !== null ? null : Math.round(turn.nowAt + (left / pace) * MINUTE_MS),
    files: { output: fileOf("out"), errors: fileOf("err") },
  };
};
