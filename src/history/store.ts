// Reads from history in D1. Every query binds the tenant first. If D1 is down, the reader gets a refusal, and nothing
// else stops.

import { log } from "../../contract/log.ts";
import { Refused } from "../http/refused.ts";

const RETRY_AFTER_SECONDS = 5;

/** Runs a read; D1's exceptions become `history_unavailable`. */
export const readHistory = async <T>(read: () => Promise<T>): Promise<T> => {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Refused) throw error;
    log("error", "history.failed", {}, error);
    throw new Refused({ code: "history_unavailable", retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
};
