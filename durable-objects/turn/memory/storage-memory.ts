// What the tenant stores, what it may store, and which places fill up (`placing/room.ts`, `placing/storage-use.ts`).

import { DEFAULT_MAX_GB } from "../../../domain/tenant/max-gb.ts";
import type { StoragePlace } from "../../../domain/tenant/storage-use.ts";
import type { Store } from "../../store/open.ts";

export interface StorageMemory {
  /** Of the object's database, of the files and bodies outside, and of history's database, as last read. */
  readonly sizes: {
    bytes: number;
    fileBytes: number;
    bodyBytes: number;
    databaseBytes: number | null;
    readAt: number;
  };
  /** About what history has: what it was sent, less the share of the jobs that retention has deleted. */
  historyBytes: number;
  /** What the archive has of this tenant. */
  archiveBytes: number;
  isArchiveFailing: boolean;
  readonly bounds: StorageBounds;
  /** The tenant's own bound, if the operator has set one. */
  maxGb: number | null;
  /** Places that fill up, each of which was audited once. */
  filling: readonly StoragePlace[];
}

/** What may be stored; the operator may set another bound for the tenant. */
export interface StorageBounds {
  readonly maxGb: number;
  readonly liveBytes: number;
  /** Of history's database; null: its disk alone. */
  readonly historyBytes: number | null;
}

/** Half of the platform's limit for an object, so that open jobs can still finish and be written to history. */
export const MAX_STORED_BYTES = 5_000_000_000;
export const DEFAULT_BOUNDS: StorageBounds = { maxGb: DEFAULT_MAX_GB, liveBytes: MAX_STORED_BYTES, historyBytes: null };

export const loadStorage = ({ settings }: Store, bounds: StorageBounds): StorageMemory => ({
  sizes: { bytes: 0, fileBytes: 0, bodyBytes: 0, databaseBytes: null, readAt: Number.NEGATIVE_INFINITY },
  historyBytes: settings.historyBytes(),
  archiveBytes: settings.archiveBytes(),
  isArchiveFailing: settings.isArchiveFailing(),
  bounds,
  maxGb: settings.maxGb(),
  filling: settings.fillingPlaces(),
});
