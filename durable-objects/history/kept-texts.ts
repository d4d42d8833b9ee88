// Which texts of a job history keeps: for a front-door job as the tenant has configured, for any other job all.

import { keepsResult, keptPayload } from "../../domain/front-door/front-door.ts";
import type { Job, JobPayload } from "../../domain/job/job.ts";
import type { Json } from "../../domain/words/json.ts";
import type { Recorded } from "../store/job-rows.ts";
import type { Store } from "../store/open.ts";

export interface KeptBatch {
  readonly payloads: ReadonlyMap<string, JobPayload>;
  readonly results: ReadonlyMap<string, Json>;
}

/** The texts of a batch of jobs that history may have. */
export const keptTextsOf = (store: Store, jobs: readonly Recorded[], texts: KeptBatch): KeptBatch => {
  const ofDoor = new Map(jobs.filter(({ job }) => job.api !== null).map(({ job }): [string, Job] => [job.id, job]));
  const kept = ofDoor.size === 0 ? "all" : store.settings.keptTexts();
  if (kept === "all") return texts;
  const payloads = [...texts.payloads].map(
    ([id, payload]) => [id, ofDoor.has(id) ? keptPayload(kept, payload) : payload] as const,
  );
  const results = [...texts.results].filter(([id]) => keepsResult(kept) || !ofDoor.has(id));
  return { payloads: new Map(payloads), results: new Map(results) };
};
