// Warns once when a place where the tenant's data lies is filling up: in the audit log, in the metrics and on the
// dashboard. The size of history's database comes with each drain, so it is unknown until the first one. What
// leaves history, and what the archive has, is counted here.

import {
  describeUse,
  isFilling,
  type StoragePlace,
  type StorageUse,
  shareOfBound,
} from "../../domain/tenant/storage-use.ts";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import type { JobStatus } from "../../domain/words/job-status.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { ok, type Result } from "../../domain/words/result.ts";
import { statusCounts } from "../turn/counting.ts";
import { storedCounters } from "../turn/memory/counters.ts";
import type { Turn } from "../turn/turn.ts";
import { maxBytesOf, sizesOf, storedBytes } from "./room.ts";

const storageUses = (turn: Turn): StorageUse[] => {
  const { bytes, databaseBytes } = sizesOf(turn);
  const { liveBytes, historyBytes } = turn.memory.storage.bounds;
  const uses: StorageUse[] = [
    { place: "tenant", usedBytes: storedBytes(turn), maxBytes: maxBytesOf(turn) },
    { place: "live", usedBytes: bytes, maxBytes: liveBytes },
  ];
  if (databaseBytes === null || historyBytes === null) return uses;
  return [...uses, { place: "history", usedBytes: databaseBytes, maxBytes: historyBytes }];
};

/** Those that fill up now; what is not known now stays as it was. */
const fillingNow = (turn: Turn, uses: readonly StorageUse[]): StoragePlace[] => {
  const before = turn.memory.storage.filling;
  const unknown = before.filter((place) => !uses.some((use) => use.place === place));
  const filling = uses.filter((use) => isFilling(use, before.includes(use.place))).map(({ place }) => place);
  return [...filling, ...unknown];
};

const isSame = (one: readonly StoragePlace[], other: readonly StoragePlace[]): boolean =>
  one.length === other.length && one.every((place) => other.includes(place));

/** When the places must be noted; null if that would change nothing. */
export const nextStorageNoteAt = (turn: Turn): number | null =>
  isSame(fillingNow(turn, storageUses(turn)), turn.memory.storage.filling) ? null : turn.nowAt;

export const noteStorage = (turn: Turn): void => {
  const uses = storageUses(turn);
  const before = turn.memory.storage.filling;
  const filling = fillingNow(turn, uses);
  if (isSame(filling, before)) return;
  for (const use of uses)
    if (filling.includes(use.place) && !before.includes(use.place))
      turn.audit("storage.filling", use.place, { used_bytes: use.usedBytes, max_bytes: use.maxBytes }, SERVICE_ACTOR);
  turn.memory.storage.filling = filling;
  turn.store.settings.putFillingPlaces(filling);
  turn.effects.changedTopics.add("storage");
};

/** Whether the archive takes jobs; said once. */
export const noteArchive = (turn: Turn, isFailing: boolean): null => {
  if (turn.memory.storage.isArchiveFailing === isFailing || turn.store.settings.identity() === null) return null;
  if (isFailing) turn.audit("archive.failing", "", null, SERVICE_ACTOR);
  turn.memory.storage.isArchiveFailing = isFailing;
  turn.store.settings.putIsArchiveFailing(isFailing);
  turn.effects.changedTopics.add("storage");
  return null;
};

const keptInHistory = ({ memory }: Turn): number => {
  const { completed, failed, cancelled } = statusCounts(memory);
  const pruned = Object.values(memory.counters.prunedByStatus).reduce((sum, many) => sum + many, 0);
  return Math.max(0, completed + failed + cancelled - pruned);
};

/**
 * Jobs that have left history, and what they take in the archive. Stored at once, because history reports it only once.
 */
export const countPruned = (turn: Turn, pruned: Partial<Record<JobStatus, number>>, archivedBytes: number): null => {
  // The tenant may have been deleted during the pruning.
  if (turn.store.settings.identity() === null) return null;
  const { counters } = turn.memory;
  const before = keptInHistory(turn);
  turn.effects.changedTopics.add("storage");
  for (const [status, count] of Object.entries(pruned) as [JobStatus, number][])
    counters.prunedByStatus[status] = (counters.prunedByStatus[status] ?? 0) + count;
  turn.store.settings.putCounters(storedCounters(counters));
  turn.memory.storage.historyBytes *= before === 0 ? 1 : Math.min(1, keptInHistory(turn) / before);
  turn.store.settings.putHistoryBytes(Math.round(turn.memory.storage.historyBytes));
  if (archivedBytes === 0) return null;
  turn.memory.storage.archiveBytes += archivedBytes;
  turn.store.settings.putArchiveBytes(turn.memory.storage.archiveBytes);
  return noteArchive(turn, false);
};

const ARCHIVE_FAILS =
  "The archive takes no jobs, so that old ones stay in history. The log has the reason, event archive.failed.";

/** For the dashboard: a sentence for each place that fills up, and for an archive that fails. */
export const storageState = (turn: Turn): { storage_warnings: string[] } => {
  const { filling: before, isArchiveFailing } = turn.memory.storage;
  const filling = storageUses(turn).filter((use) => isFilling(use, before.includes(use.place)));
  return { storage_warnings: [...filling.map(describeUse), ...(isArchiveFailing ? [ARCHIVE_FAILS] : [])] };
};

export const storageShares = (turn: Turn): { place: StoragePlace; share: number }[] =>
  storageUses(turn).map((use) => ({ place: use.place, share: shareOfBound(use) }));

/** The operator's bound for this tenant in place of the service's; null takes that again. */
export const boundTenant = (
  turn: Turn,
  request: { maxGb: number | null },
): Result<{ storedBytes: number }, Refusal> => {
  turn.memory.storage.maxGb = request.maxGb;
  turn.store.settings.putMaxGb(request.maxGb);
  turn.audit("tenant.bounded", "", { max_gb: request.maxGb });
  noteStorage(turn);
  return ok({ storedBytes: storedBytes(turn) });
};
