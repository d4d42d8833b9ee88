// Jobs of history as lines of the archive, in the order of their ids.

import { presentAttempt } from "../../../contract/jobs/insight.ts";
import { presentJob, presentJobEvent } from "../../../contract/jobs/job.ts";
import { attemptsOf } from "../../../domain/job/attempt.ts";
import { readSpendings } from "../attempts.ts";
import { findManyWhole, readTimelines } from "../jobs.ts";
import type { TenantHistory } from "../tenant-history.ts";
import type { ArchivedLine } from "./part.ts";

export const readLines = async (history: TenantHistory, ids: readonly string[]): Promise<ArchivedLine[]> => {
  const [whole, timelines, spendings] = [
    await findManyWhole(history, ids),
    await readTimelines(history, ids),
    await readSpendings(history, ids),
  ];
  const lines = whole.map(({ job, prompt, input, result }): ArchivedLine => {
    const timeline = timelines.get(job.id) ?? [];
    return {
      ...presentJob(job, { prompt, input }, result),
      archived: true,
      version: job.version,
      key_id: job.keyId,
      events: timeline.map(presentJobEvent),
      attempt_list: attemptsOf(timeline, spendings.get(job.id) ?? [], job.model).map(presentAttempt),
    };
  });
  return lines.sort((one, other) => (one.id < other.id ? -1 : 1));
};
