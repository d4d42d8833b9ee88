// One change of many jobs. The edge finds them in history and sends them in portions, one turn each. Each job is
// changed independently of the others.

import type { BulkAction, BulkReport } from "../../../contract/jobs/job-list.ts";
import type { Json } from "../../../domain/words/json.ts";
import type { Refusal, RefusalCode } from "../../../domain/words/refusal.ts";
import { ok, type Result } from "../../../domain/words/result.ts";
import type { JobCommand } from "../../steps/find-job.ts";
import { type Idempotency, type Replayable, recall, withIdempotency } from "../../steps/idempotency.ts";
import type { Turn } from "../../turn/turn.ts";
import { cancel, retry } from "./jobs.ts";

const VERBS = { retry, cancel } as const satisfies Record<BulkAction, unknown>;

export interface BulkPortion {
  readonly changed: number;
  readonly refused: Partial<Record<RefusalCode, number>>;
  /** Jobs that the object does not have: the edge reads them from history, as of this instant. */
  readonly goneIds: readonly string[];
  readonly absentAt: number;
}

export const changeJobs = (
  turn: Turn,
  request: { readonly action: BulkAction; readonly jobs: readonly JobCommand[]; readonly isDryRun?: boolean },
): Result<BulkPortion, Refusal> => {
  const refused: Partial<Record<RefusalCode, number>> = {};
  const goneIds: string[] = [];
  let changed = 0;
  for (const command of request.jobs) {
    const done = VERBS[request.action](turn, command);
    if (done.ok) changed += 1;
    else if (done.error.code === "not_found") goneIds.push(command.id);
    else refused[done.error.code] = (refused[done.error.code] ?? 0) + 1;
  }
  return ok({ changed, refused, goneIds, absentAt: turn.nowAt });
};

/** The report of the same request, if it was made before. */
export const recallBulk = (
  turn: Turn,
  request: { readonly idempotency: Idempotency },
): Result<Replayable<BulkReport> | null, Refusal> => recall<BulkReport>(turn, "bulk", request.idempotency);

/** Records what was done, in the audit log and for a repetition of the request. */
export const finishBulk = (
  turn: Turn,
  request: {
    readonly action: BulkAction;
    readonly filter: Json;
    readonly report: BulkReport;
    readonly idempotency: Idempotency | null;
  },
): Result<Replayable<BulkReport>, Refusal> =>
  withIdempotency(turn, "bulk", request.idempotency, () => {
    const { action, filter, report } = request;
    if (report.changed > 0) turn.audit(`jobs.bulk_${action}`, "", { filter, changed: report.changed });
    return ok(report);
  });
