// One change of many jobs: found in history, compared with the count that the operator saw, changed by the object in
// portions.

import { type BulkAction, type BulkReport, bulkReport, bulkRequest } from "../../../contract/jobs/job-list.ts";
import { MAX_HISTORY_LOOKS } from "../../../domain/job/archived-job.ts";
import type { Json } from "../../../domain/words/json.ts";
import type { RefusalCode } from "../../../domain/words/refusal.ts";
import type { BulkPortion } from "../../../durable-objects/operations/jobs/bulk.ts";
import type { JobCommand } from "../../../durable-objects/steps/find-job.ts";
import { endpoint } from "../../endpoint/router.ts";
import { findManyArchived, selectForBulk } from "../../history/bulk.ts";
import { historyOf } from "../../history/databases.ts";
import { answer } from "../../http/answer.ts";
import type { AppContext } from "../../http/auth.ts";
import { idempotencyHeader, idempotencyOf, replayHeader } from "../../http/idempotency.ts";
import type { TokenFacts } from "../../http/key-format.ts";
import { Refused } from "../../http/refused.ts";
import { ask } from "../../tenant/ask.ts";
import { asks } from "../../tenant/asks.ts";
import { drainTenant } from "../../tenant/tenant.ts";

/** Other operations can run between two portions. */
const JOBS_A_PORTION = 100;
/** With prompts and inputs, this many fit well into one call. */
const ARCHIVED_A_PORTION = 20;

export const changeMany = endpoint(
  {
    method: "post",
    path: "/api/jobs/bulk",
    lane: "heavy",
    tag: "Jobs",
    ...asks("changeJobs", "count_changed", "idempotency_key_reused", "history_unavailable"),
    summary: "Retry or cancel all jobs that match a filter",
    description: "At most 1 000 jobs per call, oldest first.",
    headers: idempotencyHeader,
    body: bulkRequest,
    answers: { 200: { description: "How many jobs matched, changed and were refused.", schema: bulkReport } },
  },
  async (c, { body, token }) => {
    const { action, filter, expected, dry_run: isDryRun = false } = body;
    const idempotency = await idempotencyOf(c, body);
    if (idempotency !== null) {
      const known = await ask(c, token, "recallBulk", { idempotency });
      if (known !== null) return reported(c, known);
    }
    await ask(c, token, "changeJobs", { action, jobs: [], isDryRun });
    await drainTenant(c.env, token);
    const { matched, changeable, ids } = await selectForBulk(historyOf(c.env, token), action, filter);
    if (expected !== undefined && expected !== matched) throw new Refused({ code: "count_changed", expected, matched });
    const tally = new Tally();
    tally.refuse("job_state", matched - changeable);
    if (isDryRun) return reported(c, { matched, changed: 0, refused: tally.refused, remaining: changeable });
    for (const portion of portions(ids, JOBS_A_PORTION)) await change(c, token, action, portion, tally);
    const report = { matched, changed: tally.changed, refused: tally.refused, remaining: changeable - ids.length };
    const request = { action, filter: filter as Json, report, idempotency };
    return reported(c, await ask(c, token, "finishBulk", request));
  },
);

const reported = (c: AppContext, { replayed, ...report }: BulkReport & { replayed?: boolean }): Response =>
  answer(c, report, 200, replayHeader(replayed === undefined ? {} : { replayed }));

class Tally {
  changed = 0;
  readonly refused: Record<string, number> = {};

  refuse(code: RefusalCode, count: number): void {
    if (count > 0) this.refused[code] = (this.refused[code] ?? 0) + count;
  }

  add({ changed, refused }: BulkPortion): void {
    this.changed += changed;
    for (const [code, count] of Object.entries(refused)) this.refuse(code as RefusalCode, count);
  }
}

/** Changes the jobs that the object has directly; for jobs that have left it, their records are sent along. */
const change = async (
  c: AppContext,
  token: TokenFacts,
  action: BulkAction,
  ids: readonly string[],
  tally: Tally,
): Promise<void> => {
  const changeSome = async (jobs: readonly JobCommand[]): Promise<BulkPortion> => {
    const portion = await ask(c, token, "changeJobs", { action, jobs });
    tally.add(portion);
    return portion;
  };
  const asked = await changeSome(ids.map((id) => ({ id })));
  for (const goneIds of portions(asked.goneIds, ARCHIVED_A_PORTION)) {
    let gone: Pick<BulkPortion, "goneIds" | "absentAt"> = { goneIds, absentAt: asked.absentAt };
    for (let looks = 0; looks < MAX_HISTORY_LOOKS && gone.goneIds.length > 0; looks += 1) {
      gone = await changeSome(await findManyArchived(historyOf(c.env, token), gone.goneIds, gone.absentAt));
    }
    tally.refuse("history_unavailable", gone.goneIds.length);
  }
};

const portions = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) => all.slice(index * size, (index + 1) * size));
