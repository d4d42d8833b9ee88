// Which texts of a job history keeps: for a front-door job as the tenant has configured, for a line of a batch none but
// its name, because the batch's files have them, for any other job all.

import { keepsResult, keptPayload } from "../../domain/front-door/front-door.ts";
import type { Job, JobPayload } from "../../domain/job/job.ts";
import type { Json } from "../../domain/words/json.ts";
import type { Recorded } from "../store/jobs/job-rows.ts";
import type { Store } from "../store/open.ts";

export interface KeptBatch {
  readonly payloads: ReadonlyMap<string, JobPayload>;
  readonly results: ReadonlyMap<string, Json>;
}

const withoutLines = (jobs: readonly Recorded[], { payloads, results }: KeptBatch): KeptBatch => {
  const lines = new Set(jobs.filter(({ job }) => job.batch !== null).map(({ job }) => job.id));
  if (lines.size === 0) return { payloads, results };
  return {
    payloads: new Map([...payloads].map(([id, one]) => [id, lines.has(id) ? { ...one, input: null } : one])),
    results: new Map([...results].filter(([id]) => !lines.has(id))),
  };
};

/** The texts of a batch of jobs that history may have. */
export const keptTextsOf = (store: Store, jobs: readonly Recorded[], all: KeptBatch): KeptBatch => {
  const texts = withoutLines(jobs, all);
  const ofDoor = new Map(jobs.filter(({ job }) => job.api !== null).map(({ job }): [string, Job] => [job.id, job]));
  const kept = ofDoor.size === 0 ? "all" : store.settings.keptTexts();
  if (kept === "all") return texts;
  const payloads = [...texts.payloads].map(
    ([id, payload]) => [id, ofDoor.has(id) ? keptPayload(kept, payload) : payload] as const,
  );
  const results = [...texts.results].filter(([id]) => keepsResult(kept) || !ofDoor.has(id));
  return { payloads: new Map(payloads), results: new Map(results) };
};
