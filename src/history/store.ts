// Work on history in D1. If D1 is down, the caller gets a refusal, and nothing else stops.

import { within } from "../../contract/text/within.ts";
import { HISTORY_UNAVAILABLE } from "../../domain/words/refusal.ts";
import { log } from "../../log/log.ts";
import { Refused } from "../http/refused.ts";

/** Longer than a page takes. A history process that hangs would answer nothing for a minute. */
const READ_WITHIN_MS = 10_000;

/** Runs a read, which must be quick; D1's exceptions become `history_unavailable`. */
export const readHistory = <T>(read: () => Promise<T>): Promise<T> =>
  workOnHistory(async () => {
    const found = await within(
      read().then((value) => ({ value })),
      READ_WITHIN_MS,
    );
    if (found === null) throw new Error(`history did not answer within ${READ_WITHIN_MS} ms`);
    return found.value;
  });

/** The same for a write or a long read, which is awaited however long it takes. */
export const workOnHistory = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) throw error;
    log("error", "history.failed", {}, error);
    throw new Refused(HISTORY_UNAVAILABLE);
  }
};
