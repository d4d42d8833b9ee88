// A worker's hours as its operator set them, with their state, which is computed when it changes.

export interface Opening {
  readonly hours: string;
  readonly timezone: string;
  readonly isOpen: boolean;
  /** When it opens or closes next; null: never. */
  readonly changesAt: number | null;
  /** Why it is closed, when it is. */
  readonly words: string;
}

/** Why it takes nothing now; null if it is open. The state changes at its instant, even before the sweep handles it. */
export const closedBecause = ({ isOpen, changesAt, words }: Opening, nowAt: number): string | null => {
  const isOpenNow = changesAt !== null && nowAt >= changesAt ? !isOpen : isOpen;
  return isOpenNow ? null : words;
};
