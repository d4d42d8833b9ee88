// Says, while a command waits for a service that is away, what is wrong.

import { whileAway as repeated } from "../contract/client/while-away.ts";
import type { Context } from "./verb.ts";

/** Repeats a look at the service, which must change nothing, until it is answered. */
export const whileAway = <Seen>({ output, signal }: Context, look: () => Promise<Seen>): Promise<Seen> =>
  repeated(look, { signal, onAway: (problem) => output.away(problem) });
