// A reader beside the client, and a writer over HTTP, ends with the key or the session that it came with. The tenant
// does not know of them, so a relay asks it again and again which of these are still valid.

/** Between two questions. */
export const HOLDERS_EVERY_MS = 2_000;

/** What somebody has open. */
export interface HeldOpen {
  /** Null: it ends in another way. */
  readonly holder: string | null;
  readonly end: () => void;
}

/** Without an answer nobody ends. */
export const endInvalid = async (
  open: readonly HeldOpen[],
  areValid: (holders: readonly string[]) => Promise<readonly boolean[]>,
): Promise<void> => {
  const holders = [...new Set(open.flatMap(({ holder }) => holder ?? []))];
  if (holders.length === 0) return;
  const valid = await areValid(holders);
  for (const { holder, end } of open) if (valid[holders.indexOf(holder ?? "")] === false) end();
};
