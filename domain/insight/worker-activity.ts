// What a worker did in each step of a period, from its jobs. Pure. A job ends in one step and loads all that it ran in.

import { observe, quantile, type Spread } from "./spread.ts";

export interface WorkedJob {
  readonly status: string;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly nanoUsd: number | null;
}

export interface Worked {
  completed: number;
  failed: number;
  nanoUsd: number;
  /** Time that its jobs ran, all together. */
  busyMs: number;
  readonly runs: Spread;
}

interface Served extends Worked {
  readonly provider: string | null;
  readonly model: string | null;
}

const nothing = (): Worked => ({ completed: 0, failed: 0, nanoUsd: 0, busyMs: 0, runs: new Map() });

const noteEnd = (worked: Worked, { status, startedAt, finishedAt, nanoUsd }: WorkedJob): void => {
  worked.nanoUsd += nanoUsd ?? 0;
  if (status === "failed") worked.failed += 1;
  if (status !== "completed") return;
  worked.completed += 1;
  if (startedAt !== null && finishedAt !== null) observe(worked.runs, Math.max(0, finishedAt - startedAt));
};

export const runTime = ({ runs }: Worked, share: number): number | null => quantile(runs, share);

/** `steps`: the start of each, evenly spaced; a job that ended before the first one counts nowhere. */
export const workedIn = (
  jobs: readonly WorkedJob[],
  { steps, stepMs, nowAt }: { steps: readonly number[]; stepMs: number; nowAt: number },
): { total: Worked; series: Worked[]; served: Served[] } => {
  const [total, series] = [nothing(), steps.map(nothing)];
  const served = new Map<string, Served>();
  const fromAt = steps[0] ?? nowAt;
  for (const job of jobs) {
    const { startedAt, provider, model } = job;
    if (startedAt !== null) addLoad(series, startedAt, job.finishedAt ?? nowAt, { fromAt, stepMs });
    const step = job.finishedAt === null ? undefined : series[Math.floor((job.finishedAt - fromAt) / stepMs)];
    if (step === undefined) continue;
    const name = JSON.stringify([provider, model]);
    const kind = served.get(name) ?? { ...nothing(), provider, model };
    served.set(name, kind);
    for (const worked of [total, step, kind]) noteEnd(worked, job);
  }
  const jobsOf = (one: Served): number => one.completed + one.failed;
  return { total, series, served: [...served.values()].sort((one, other) => jobsOf(other) - jobsOf(one)) };
};

const addLoad = (
  series: readonly Worked[],
  startedAt: number,
  endedAt: number,
  { fromAt, stepMs }: { fromAt: number; stepMs: number },
): void => {
  const first = Math.max(0, Math.floor((startedAt - fromAt) / stepMs));
  for (let index = first; index < series.length; index += 1) {
    const at = fromAt + index * stepMs;
    if (at >= endedAt) return;
    const step = series[index];
    if (step !== undefined) step.busyMs += Math.max(0, Math.min(endedAt, at + stepMs) - Math.max(startedAt, at));
  }
};
