// A job's attempts, made from its timeline and its recorded costs.

import { type AttemptList, presentAttempt } from "../../contract/jobs/insight.ts";
import { type AttemptSpending, attemptsOf, usageOfCounts } from "../../domain/job/attempt.ts";
import { MAX_TOLD_VERSION } from "../../domain/job/stored-timeline.ts";
import { readTimeline } from "./jobs.ts";
import { readHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";

interface SpendingRow {
  readonly lease: number;
  readonly provider: string;
  readonly model: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
  readonly reasoning_tokens: number;
  readonly nano_usd: number | null;
  readonly source: string;
}

/** Null if there is no such job. */
export const jobAttempts = (history: TenantHistory, id: string): Promise<AttemptList | null> =>
  readHistory(async () => {
    const [timeline, job, { results }] = await Promise.all([
      readTimeline(history, id),
      history
        .statement("SELECT record ->> '$.model' AS model FROM jobs WHERE tenant = ?1 AND id = ?2", id)
        .first<{ model: string | null }>(),
      history
        .statement(
          `SELECT * FROM attempts WHERE tenant = ?1 AND job_id = ?2 ORDER BY lease LIMIT ${MAX_TOLD_VERSION}`,
          id,
        )
        .all<SpendingRow>(),
    ]);
    if (job === null) return null;
    return { attempts: attemptsOf(timeline, results.map(spendingOf), job.model).map(presentAttempt) };
  });

/** What the attempts of many jobs spent, by job. */
export const readSpendings = async (
  history: TenantHistory,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly AttemptSpending[]>> => {
  const { results } = await history
    .statement(
      "SELECT * FROM attempts WHERE tenant = ?1 AND job_id IN (SELECT value FROM json_each(?2)) ORDER BY job_id, lease",
      JSON.stringify(ids),
    )
    .all<SpendingRow & { readonly job_id: string }>();
  const byJob = Map.groupBy(results, ({ job_id }) => job_id);
  return new Map([...byJob].map(([id, rows]) => [id, rows.map(spendingOf)]));
};

const spendingOf = (row: SpendingRow): AttemptSpending => ({
  lease: row.lease,
  provider: row.provider,
  model: row.model === "" ? null : row.model,
  usage: usageOfCounts({
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cachedInputTokens: row.cached_input_tokens,
    reasoningTokens: row.reasoning_tokens,
  }),
  costNanoUsd: row.nano_usd,
  source: row.source,
});
