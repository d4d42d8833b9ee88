// Waits for a service that is away for a moment, as for an upgrade: a command that follows something long goes on.

import { setTimeout as pause } from "node:timers/promises";
import { ApiProblem } from "../contract/client/problem.ts";
import type { Context } from "./verb.ts";

const LOOK_EVERY_MS = 2_000;
const AWAY_MS = 600_000;
const FIRST_SERVER_STATUS = 500;

/** Repeats a look at the service, which must change nothing, until it is answered. @throws after `AWAY_MS` without. */
export const whileAway = async <Seen>({ output, signal }: Context, look: () => Promise<Seen>): Promise<Seen> => {
  const sinceAt = Date.now();
  for (let told = ""; ; await pause(LOOK_EVERY_MS, undefined, { signal })) {
    try {
      return await look();
    } catch (error) {
      const isAway = error instanceof ApiProblem && (error.status === 0 || error.status >= FIRST_SERVER_STATUS);
      if (!isAway || Date.now() - sinceAt > AWAY_MS) throw error;
      if (error.message !== told) output.progress(error.message);
      told = error.message;
    }
  }
};
