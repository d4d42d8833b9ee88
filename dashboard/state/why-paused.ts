// Why and until when a worker is paused.

import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { pauseText } from "../../contract/words/values.ts";

/** Its instants are in UTC, like those of all the service's reasons. */
export const whyPaused = ({ pause_reason: reason, paused_until: until }: WorkerResource): string =>
  pauseText(reason ?? "no reason was given", until);
