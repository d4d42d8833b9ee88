// Waits for a service that is away for a moment, as for an upgrade: what follows something long goes on.

import { ApiProblem } from "./problem.ts";
import { type CallOptions, pause } from "./transport.ts";

export interface AwayOptions extends CallOptions {
  /** Called before each new look. */
  readonly onAway?: ((problem: ApiProblem) => void) | undefined;
}

const LOOK_EVERY_MS = 2_000;
const AWAY_MS = 600_000;
const FIRST_SERVER_STATUS = 500;

const isAway = ({ status, code }: ApiProblem): boolean =>
  status >= FIRST_SERVER_STATUS || code === "unreachable" || code === "timeout";

/** Repeats a look at the service, which must change nothing, until it is answered. @throws after `AWAY_MS` without. */
export const whileAway = async <Seen>(look: () => Promise<Seen>, { signal, onAway }: AwayOptions): Promise<Seen> => {
  const sinceAt = Date.now();
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof ApiProblem) || !isAway(error) || Date.now() - sinceAt > AWAY_MS) throw error;
      onAway?.(error);
      await pause(LOOK_EVERY_MS, signal);
    }
  }
};
