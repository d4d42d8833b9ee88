// How full each place is where a tenant's data lies, and when an operator should hear of it: early enough to change what
// is kept, or the bound, before anything is refused.

/** `tenant`: all that it stores; `live`: its object's own database; `history`: the database that it shares with others. */
const STORAGE_PLACES = ["tenant", "live", "history"] as const;
export type StoragePlace = (typeof STORAGE_PLACES)[number];

export interface StorageUse {
  readonly place: StoragePlace;
  readonly usedBytes: number;
  readonly maxBytes: number;
}

export const BYTES_A_GB = 1_000_000_000;

const FILLING_SHARE = 0.7;
/** A warning ends below this, so that it does not come and go. */
const CALM_SHARE = 0.65;

export const shareOfBound = ({ usedBytes, maxBytes }: StorageUse): number => usedBytes / maxBytes;

export const isFilling = (use: StorageUse, wasFilling: boolean): boolean =>
  shareOfBound(use) >= (wasFilling ? CALM_SHARE : FILLING_SHARE);

const SAID: Readonly<Record<StoragePlace, readonly [what: string, then: string]>> = {
  tenant: ["This tenant stores", "At the bound new jobs are refused: shorten history.keep_days, or raise its max_gb"],
  live: ["The tenant's live state takes", "At the bound new jobs are refused: look at what waits, and at history"],
  history: ["The history's database holds", "At the bound history stops: shorten history.keep_days"],
};

const gb = (bytes: number): string => String(Number((bytes / BYTES_A_GB).toPrecision(3)));

export const describeUse = (use: StorageUse): string => {
  const [what, then] = SAID[use.place];
  const percent = Math.floor(shareOfBound(use) * 100);
  return `${what} ${gb(use.usedBytes)} of ${gb(use.maxBytes)} GB (${percent} %). ${then}.`;
};
