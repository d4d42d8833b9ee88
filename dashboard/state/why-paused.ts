// Why a worker gets no new jobs, and until when it is paused.

import type { WorkerResource } from "../../contract/fleet/worker.ts";
import { pauseText } from "../../contract/words/values.ts";

/** Its instants are in UTC, like those of all the service's reasons. */
export const whyPaused = ({ pause_reason: reason, paused_until: until }: WorkerResource): string =>
  pauseText(reason ?? "no reason was given", until);

/** Null if nothing keeps it from new jobs. */
export const whyNot = (worker: WorkerResource): string | null => {
  if (worker.halt_confirmed === false) return "has not confirmed the halt";
  return worker.paused ? whyPaused(worker) : worker.unavailable;
};
