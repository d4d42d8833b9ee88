// Warns once when a place where the tenant's data lies is filling up: in the audit log, in the metrics and on the
// dashboard. The size of history's database comes with each drain, so it is unknown until the first one.

import {
  describeUse,
  isFilling,
  type StoragePlace,
  type StorageUse,
  shareOfBound,
} from "../../domain/tenant/storage-use.ts";
import { SERVICE_ACTOR } from "../../domain/words/event.ts";
import type { Refusal } from "../../domain/words/refusal.ts";
import { ok, type Result } from "../../domain/words/result.ts";
import type { Turn } from "../turn/turn.ts";
import { maxBytesOf, sizesOf, storedBytes } from "./room.ts";

export const storageUses = (turn: Turn): StorageUse[] => {
  const { bytes, databaseBytes } = sizesOf(turn);
  const { liveBytes, historyBytes } = turn.memory.bounds;
  const uses: StorageUse[] = [
    { place: "tenant", usedBytes: storedBytes(turn), maxBytes: maxBytesOf(turn) },
    { place: "live", usedBytes: bytes, maxBytes: liveBytes },
  ];
  if (databaseBytes === null || historyBytes === null) return uses;
  return [...uses, { place: "history", usedBytes: databaseBytes, maxBytes: historyBytes }];
};

/** Those that fill up now; what is not known now stays as it was. */
const fillingNow = (turn: Turn, uses: readonly StorageUse[]): StoragePlace[] => {
  const before = turn.memory.fillingPlaces;
  const unknown = before.filter((place) => !uses.some((use) => use.place === place));
  const filling = uses.filter((use) => isFilling(use, before.includes(use.place))).map(({ place }) => place);
  return [...filling, ...unknown];
};

const isSame = (one: readonly StoragePlace[], other: readonly StoragePlace[]): boolean =>
  one.length === other.length && one.every((place) => other.includes(place));

/** When the places must be noted; null if that would change nothing. */
export const nextStorageNoteAt = (turn: Turn): number | null =>
  isSame(fillingNow(turn, storageUses(turn)), turn.memory.fillingPlaces) ? null : turn.nowAt;

export const noteStorage = (turn: Turn): void => {
  const uses = storageUses(turn);
  const before = turn.memory.fillingPlaces;
  const filling = fillingNow(turn, uses);
  if (isSame(filling, before)) return;
  for (const use of uses)
    if (filling.includes(use.place) && !before.includes(use.place))
      turn.audit("storage.filling", use.place, { used_bytes: use.usedBytes, max_bytes: use.maxBytes }, SERVICE_ACTOR);
  turn.memory.fillingPlaces = filling;
  turn.store.settings.putFillingPlaces(filling);
  turn.effects.changedTopics.add("storage");
};

/** For the dashboard: a sentence for each place that fills up. */
export const storageState = (turn: Turn): { storage_warnings: string[] } => ({
  storage_warnings: storageUses(turn)
    .filter((use) => isFilling(use, turn.memory.fillingPlaces.includes(use.place)))
    .map(describeUse),
});

export const storageShares = (turn: Turn): { place: StoragePlace; share: number }[] =>
  storageUses(turn).map((use) => ({ place: use.place, share: shareOfBound(use) }));

/** The operator's bound for this tenant in place of the service's; null takes that again. */
export const boundTenant = (
  turn: Turn,
  request: { maxGb: number | null },
): Result<{ storedBytes: number }, Refusal> => {
  turn.memory.maxGb = request.maxGb;
  turn.store.settings.putMaxGb(request.maxGb);
  turn.audit("tenant.bounded", "", { max_gb: request.maxGb });
  noteStorage(turn);
  return ok({ storedBytes: storedBytes(turn) });
};
