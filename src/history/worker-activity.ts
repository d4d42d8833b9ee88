// What a worker did over a rolling period, from its jobs in history. At most the newest are read.

import { MAX_WORKER_JOBS, type WorkerActivity } from "../../contract/fleet/worker-activity.ts";
import { toIso } from "../../contract/words/field.ts";
import { ROLLING_PERIODS, type RollingPeriod, stepsOf } from "../../domain/insight/slots.ts";
import { runTime, type Worked, type WorkedJob, workedIn } from "../../domain/insight/worker-activity.ts";
import { STARTED_AT } from "../../domain/job/job-record.ts";
import { usdFromNano } from "../../domain/money/price.ts";
import { type JobSelection, selectionOf } from "./lists/selection.ts";
import { listMarks } from "./marks.ts";
import { readHistory } from "./store.ts";
import type { TenantHistory } from "./tenant-history.ts";

/** All tenants' statements wait for the one that runs. */
const JOBS_A_STATEMENT = 1_000;

/** By all of a job's attempts on its worker, as the cost by worker has them. */
const SPENT = `(SELECT SUM(nano_usd) FROM attempts
  WHERE attempts.tenant = ?1 AND attempts.job_id = jobs.id AND attempts.worker = jobs.worker)`;

interface PlacedJob extends WorkedJob {
  readonly place: number;
  readonly created_at: number;
}

const isBefore = (job: PlacedJob | undefined, at: number): boolean => (job?.created_at ?? at) < at;

/**
 * The newest jobs, in the order of their creation, as the index has them. A job that was created before the period may
 * have run in it: one statement's worth of those is read, too.
 */
const jobsOf = async (
  history: TenantHistory,
  { from, where, bindings, seq }: JobSelection,
  fromAt: number,
): Promise<PlacedJob[]> => {
  const before = `?${bindings.length + 2}`;
  const sql = `SELECT ${seq} AS place, created_at, status, ${STARTED_AT} AS startedAt, finished_at AS finishedAt,
      ran_provider AS provider, ran_model AS model, ${SPENT} AS nanoUsd
    FROM ${from} WHERE ${where} AND ${seq} < CAST(${before} AS INTEGER) ORDER BY ${seq} DESC LIMIT ${JOBS_A_STATEMENT}`;
  const jobs: PlacedJob[] = [];
  for (let place = Number.MAX_SAFE_INTEGER; jobs.length < MAX_WORKER_JOBS; ) {
    const { results } = await history.statement(sql, ...bindings, place).all<PlacedJob>();
    jobs.push(...results);
    if (results.length < JOBS_A_STATEMENT || isBefore(results[0], fromAt)) break;
    place = results.at(-1)?.place ?? 0;
  }
  return jobs;
};

const MOST_SERVED = 50;

const presentSums = ({ completed, failed, nanoUsd }: Worked) => ({ completed, failed, usd: usdFromNano(nanoUsd) });
const rounded = (ms: number | null): number | null => (ms === null ? null : Number(ms.toPrecision(3)));
const p95Of = (worked: Worked): number | null => rounded(runTime(worked, 0.95));

const LEAD = { by: "index", words: [], hasIds: false } as const;

export const readWorkerActivity = (
  history: TenantHistory,
  instance: string,
  period: RollingPeriod,
  nowAt: number,
): Promise<WorkerActivity> =>
  readHistory(async () => {
    const { stepMs } = ROLLING_PERIODS[period];
    const steps = stepsOf(period, nowAt);
    const fromAt = steps[0] ?? nowAt;
    const selection = selectionOf(history.tenant, { worker: instance }, LEAD);
    const [jobs, { marks }] = await Promise.all([
      jobsOf(history, selection, fromAt),
      listMarks(history, { fromAt, toAt: nowAt, target: instance }),
    ]);
    const { total, series, served } = workedIn(jobs, { steps, stepMs, nowAt });
    const isUnderWay = (index: number): boolean => index === steps.length - 1;
    return {
      period,
      from: toIso(fromAt),
      to: toIso(nowAt),
      is_whole: jobs.length < MAX_WORKER_JOBS || isBefore(jobs.at(-1), fromAt),
      total: { ...presentSums(total), p50_ms: rounded(runTime(total, 0.5)), p95_ms: p95Of(total) },
      series: series.map((step, index) => {
        const at = steps[index] ?? nowAt;
        const lengthMs = isUnderWay(index) ? Math.max(1, nowAt - at) : stepMs;
        return { at: toIso(at), ...presentSums(step), load: step.busyMs / lengthMs, p95_ms: p95Of(step) };
      }),
      served: served
        .slice(0, MOST_SERVED)
        .map((one) => ({ provider: one.provider, model: one.model, ...presentSums(one), p95_ms: p95Of(one) })),
      marks,
    };
  });
