// Defects in what is counted, and in its way to history.

import { type Mutant, mutant } from "./mutant.ts";

const COST = ["test/tenant/money/cost-by.workers.test.ts"];

export const HISTORY_MUTANTS: readonly Mutant[] = [
  mutant(
    "a final job leaves before history has it",
    "durable-objects/sweep/sweep.ts",
    "jobs.removable(turn.nowAt, goneSeq, REMOVED_A_SWEEP)",
    "jobs.removable(turn.nowAt, goneSeq + 1e9, REMOVED_A_SWEEP)",
  ),
  mutant(
    "a final job that history had late never leaves",
    "durable-objects/history/history-writer.ts",
    "if (store.jobs.unshelve(store.outbox.goneSeq(), nowAt)) wake.note(nowAt);",
    "void nowAt;",
  ),
  mutant(
    "the outbox wakes nobody",
    "durable-objects/calls/turn-runner.ts",
    "this.#tools.wake.note(row.at + DRAIN_DELAY_MS);",
    "void DRAIN_DELAY_MS;",
  ),
  mutant(
    "a repeated completion is charged again",
    "durable-objects/operations/fleet/report.ts",
    'recordSpending(turn, job, "completed", request, cost);\n',
    'recordSpending(turn, job, "completed", request, cost);\n  }\n  if (decided.value.job === job) recordSpending(turn, job, "completed", request, cost);\n  if (decided.value.job !== job) {\n',
  ),
  mutant(
    "spending is not added up",
    "durable-objects/steps/pricing.ts",
    "if (nanoUsd === 0) return;",
    "if (nanoUsd < 500_000) return;",
  ),
  mutant(
    "history counts a job once for each attempt",
    "durable-objects/history/attempt-sums.ts",
    "NOT has_others AND key = MIN(key) OVER of_job AS jobs",
    "NOT has_others OR key = MIN(key) OVER of_job AS jobs",
  ),
  mutant(
    "history counts a job as unpriced once for each attempt",
    "durable-objects/history/attempt-sums.ts",
    "OVER of_job AND NOT (has_others AND EXISTS (",
    "OVER of_job OR NOT (has_others AND EXISTS (",
  ),
  mutant(
    "an attempt is added up again when its batch is applied again",
    "durable-objects/history/attempt-sums.ts",
    "FROM told WHERE NOT (has_others AND EXISTS (",
    "FROM told WHERE true OR NOT (has_others AND EXISTS (",
  ),
  mutant(
    "each load of history reads all of the tenant's jobs",
    "durable-objects/history/cost-sums.ts",
    "LEFT JOIN jobs ON",
    "JOIN jobs ON",
    ["test/tenant/query-plans-of-work.workers.test.ts"],
  ),
  mutant(
    "history leaves out the events of a job that it has in its last version",
    "durable-objects/history/projection.ts",
    "[...timelines].filter(([id]) => !sentJobs.has(id))",
    "[...timelines].filter(() => false)",
  ),
  mutant(
    "history takes an event twice when a larger batch follows one that it had",
    "durable-objects/history/statements.ts",
    " WHERE value ->> 0 > ",
    " WHERE 9e9 > ",
  ),
  mutant(
    "outbox numbers start again when it is empty",
    "durable-objects/turn/memory.ts",
    "Math.max(store.outbox.lastSeq(), drainedSeq) + 1",
    "store.outbox.lastSeq() + 1",
  ),
  mutant(
    "the outbox is emptied before history has it",
    "durable-objects/history/drain.ts",
    "await applied;\n      noteStored?.(load.rows);\n      await removeUpTo(upToSeq);",
    "await removeUpTo(upToSeq);\n      await applied;",
  ),
  mutant(
    "a job that history has in an older version is not sent again",
    "durable-objects/history/projection.ts",
    "sent.get(job.id)?.version !== job.version",
    "sent.get(job.id) === undefined",
  ),
  mutant(
    "one outbox row too many is taken for drained",
    "durable-objects/history/history-writer.ts",
    "store.outbox.removeUpTo(seq);",
    "store.outbox.removeUpTo(seq + 1);",
  ),
  mutant(
    "history never updates what ran a job",
    "durable-objects/history/statements.ts",
    "worker = excluded.worker, ran_provider = excluded.ran_provider,",
    "worker = excluded.worker,",
  ),
  mutant(
    "history never updates a job's worker",
    "durable-objects/history/statements.ts",
    "worker = excluded.worker, ran_provider",
    "ran_provider",
  ),
  mutant(
    "what history had long ago is taken for what is",
    "durable-objects/steps/find-job.ts",
    "FINAL_GRACE_MS / 2",
    "FINAL_GRACE_MS * 1e6",
  ),
  mutant(
    "a job that came back leaves at once",
    "durable-objects/turn/deadline.ts",
    "Math.max(job.finishedAt, job.updatedAt) + FINAL_GRACE_MS",
    "job.finishedAt + FINAL_GRACE_MS",
  ),
  mutant(
    "history never updates its column of a job's error",
    "durable-objects/history/statements.ts",
    "error_code = excluded.error_code, ",
    "",
  ),
  mutant(
    "history never updates its column of a job's cost",
    "durable-objects/history/statements.ts",
    ", cost_nano_usd = excluded.cost_nano_usd,",
    ",",
  ),
  mutant(
    "history never updates its column of a job's labels",
    "durable-objects/history/statements.ts",
    "labels = excluded.labels, ",
    "",
  ),
  mutant(
    "history never updates its column of a job's end",
    "durable-objects/history/statements.ts",
    "finished_at = excluded.finished_at, ",
    "",
  ),
  mutant(
    "due times that were missed are not counted",
    "domain/schedule/timing.ts",
    "missed: Math.max(0, count - 1),",
    "missed: Math.max(0, count - 2),",
  ),
  mutant(
    "a tenant's drain writes another tenant's row",
    "durable-objects/history/history-writer.ts",
    "away = ?4 WHERE tenant = ?1",
    "away = ?4 WHERE ?1 = ?1",
  ),
  mutant(
    "counters keep what was undone",
    "durable-objects/calls/turn-runner.ts",
    "this.#counters = null;",
    "void this.#counters;",
  ),
  mutant(
    "a cancelled job is counted twice",
    "durable-objects/turn/counting.ts",
    "counters.jobsByStatus[status] += 1;",
    'counters.jobsByStatus[status] += status === "cancelled" ? 2 : 1;',
  ),
  mutant(
    "a late batch takes a job back",
    "durable-objects/history/statements.ts",
    "WHERE excluded.version > jobs.version OR (",
    "WHERE true OR (",
  ),
  mutant(
    "a job brings later events over a gap",
    "durable-objects/store/recent-rows.ts",
    "row = this.#rows.get(row.seq + 1)) rows.push(row);",
    "row = this.#rows.get(row.seq + 1) ?? this.#rows.get(row.seq + 2)) rows.push(row);",
    ["test/store/store.workers.test.ts"],
  ),
  mutant("a job whose batch failed counts as sent", "durable-objects/history/drain.ts", "this.#sent.clear();", ""),
  mutant(
    "the cost of one schedule's jobs counts for another's",
    "durable-objects/history/cost-sums.ts",
    "key_id, schedule, labels)",
    "key_id, labels)",
    COST,
  ),
  mutant(
    "rows of equal cost stand in any order",
    "src/history/cost-sums.ts",
    "other.nano_usd - one.nano_usd || other.jobs - one.jobs",
    "other.nano_usd - one.nano_usd",
    COST,
  ),
];
